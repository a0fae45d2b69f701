package io.furlong.server;

import io.furlong.control.LedgerView;
import io.furlong.control.config.AdapterConfigReader;
import io.furlong.control.config.AllowedRoots;
import io.furlong.core.HealthProbe;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What the control API needs from the rest of the process.
 *
 * @param host    address to listen on; anything but loopback needs tokens in the store
 * @param port    0 lets the system choose
 * @param reader  turns {@code config} and YAML files into configurations, with the run's defaults and allowed roots
 * @param roots   where a {@code yaml_path} may point
 * @param base    where relative paths of requests start
 * @param probes  asked by {@code GET /ready}, beside the store
 * @param ledgers where attempts are
 * @param figures what sinks recorded
 * @param maxBody largest request body, bytes
 */
public record ServerOptions(String host, int port, AdapterConfigReader reader, AllowedRoots roots, Path base, List<HealthProbe> probes,
                            LedgerView ledgers, Figures figures, int maxBody) {
    /** The reference system's port. */
    public static final int DEFAULT_PORT = 8068;

    public ServerOptions {
        probes = List.copyOf(probes);
    }

    /** Loopback, no probes, no ledgers, bodies up to 1 MiB. */
    public static ServerOptions loopback(int port, AdapterConfigReader reader) {
        return new ServerOptions("127.0.0.1", port, reader, AllowedRoots.ANY, Path.of("").toAbsolutePath(), List.of(), id -> Optional.empty(),
                new Figures(), 1 << 20);
    }

    public ServerOptions withHost(String address) {
        return new ServerOptions(address, port, reader, roots, base, probes, ledgers, figures, maxBody);
    }

    public ServerOptions withRoots(AllowedRoots allowed, Path start) {
        return new ServerOptions(host, port, reader, allowed, start, probes, ledgers, figures, maxBody);
    }

    public ServerOptions withParts(List<HealthProbe> asked, LedgerView view, Figures sink) {
        return new ServerOptions(host, port, reader, roots, base, asked, view, sink, maxBody);
    }
}
