package io.furlong.cli;

import java.nio.file.Path;

/** Where Furlong itself lies: the launcher says so. */
final class Home {
    private Home() {}

    static Path directory() {
        return Path.of(System.getProperty("furlong.home", ""));
    }
}
