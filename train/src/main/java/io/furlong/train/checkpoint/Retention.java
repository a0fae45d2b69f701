package io.furlong.train.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** Which checkpoints of an adapter stay on disk. */
public final class Retention {
    private Retention() {}

    /**
     * Removes the checkpoints of one registration in {@code directory}, unfinished ones included, but for the {@code newest} with the highest
     * version and those in {@code pinned}. Nothing else in the directory is touched.
     *
     * @param namePrefix what the directory names of the registration start with, such as {@code gsm8k.0123456789ab@v}
     * @return what was removed
     */
    public static List<Path> prune(Path directory, String namePrefix, int newest, Set<Path> pinned) throws IOException {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        List<Path> finished = new ArrayList<>();
        List<Path> removed = new ArrayList<>();
        try (var list = Files.list(directory)) {
            for (Path path : list.filter(Files::isDirectory).toList()) {
                if (DurableDirectory.isUnfinished(path) && path.getFileName().toString().contains(namePrefix)) {
                    removed.add(path);
                } else if (path.getFileName().toString().startsWith(namePrefix)) {
                    finished.add(path);
                }
            }
        }
        finished.sort(Comparator.comparingLong((Path path) -> version(path, namePrefix)).reversed());
        finished.stream().skip(newest).filter(path -> !pinned.contains(path)).forEach(removed::add);
        for (Path path : removed) {
            DurableDirectory.delete(path);
        }
        return removed;
    }

    private static long version(Path path, String namePrefix) {
        String rest = path.getFileName().toString().substring(namePrefix.length());
        int end = rest.indexOf('-');
        try {
            return Long.parseLong(end < 0 ? rest : rest.substring(0, end));
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
