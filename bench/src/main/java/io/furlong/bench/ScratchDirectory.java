package io.furlong.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A directory that is gone with all that is in it once the measuring is over. */
record ScratchDirectory(Path path) implements AutoCloseable {
    static ScratchDirectory create() throws IOException {
        return new ScratchDirectory(Files.createTempDirectory("furlong-bench"));
    }

    @Override
    public void close() throws IOException {
        List<Path> deepestFirst;
        try (Stream<Path> files = Files.walk(path)) {
            deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : deepestFirst) {
            Files.delete(file);
        }
    }
}
