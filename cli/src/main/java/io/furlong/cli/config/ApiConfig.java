package io.furlong.cli.config;

import io.furlong.core.ConfigException;
import java.nio.file.Path;
import java.util.List;

/**
 * The control API of a service.
 *
 * @param host    loopback, unless tokens were issued
 * @param port    0 takes a free one
 * @param roots   directories that registrations may name data, configuration and save paths in
 */
public record ApiConfig(String host, int port, List<Path> roots) {
    public static final String DEFAULT_HOST = "127.0.0.1";
    /** The reference system's. */
    public static final int DEFAULT_PORT = 8068;

    public ApiConfig {
        roots = List.copyOf(roots);
        if (port < 0 || port > 65_535) {
            throw new ConfigException("api.port", port, "from 0 to 65535");
        }
    }
}
