package io.furlong.control.config;

import java.nio.file.Path;

/** Where a configuration was written, as messages name it. */
public sealed interface Source {
    /** Relative paths written there start from here. */
    Path base();

    /**
     * A file.
     *
     * @param shown the path as the user gave it
     */
    record File(String shown, Path base) implements Source {
        public static File of(Path path) {
            Path parent = path.toAbsolutePath().normalize().getParent();
            return new File(path.toString(), parent == null ? Path.of("/") : parent);
        }
    }

    /**
     * A request body, or a part of it.
     *
     * @param prefix put before keys, such as {@code config}; may be empty
     */
    record Body(String prefix, Path base) implements Source {}
}
