package io.furlong.cli;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;

/** A new directory for each run, named after what runs and when; {@code latest} beside it points at the newest. */
final class RunDirectory {
    private static final DateTimeFormatter WHEN = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss");

    private RunDirectory() {}

    /** Makes it; two runs that start in the same second get one each. */
    static Path make(Path runs, String name, LocalDateTime now) throws IOException {
        Files.createDirectories(runs);
        String id = name + "-" + WHEN.format(now);
        for (int again = 1; ; again++) {
            Path directory = runs.resolve(again == 1 ? id : id + "-" + again);
            try {
                Files.createDirectory(directory);
                pointLatestAt(directory);
                return directory;
            } catch (FileAlreadyExistsException e) {
                continue; // taken in this second
            }
        }
    }

    /** A convenience for people; a file system without links goes without. */
    private static void pointLatestAt(Path directory) {
        Path latest = directory.resolveSibling("latest");
        try {
            if (Files.isSymbolicLink(latest) || Files.notExists(latest)) {
                Files.deleteIfExists(latest);
                Files.createSymbolicLink(latest, directory.getFileName());
            }
        } catch (IOException | UnsupportedOperationException e) {
            return;
        }
    }

    /** The shorter of a path and the path from where the user stands. */
    static Path shown(Path path) {
        Path here = Path.of("").toAbsolutePath();
        Path whole = path.toAbsolutePath().normalize();
        return whole.startsWith(here) ? here.relativize(whole) : whole;
    }
}
