package io.furlong.cli.config;

import io.furlong.core.ConfigException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;

/** What generates the rollouts. */
public sealed interface EngineConfig {
    Publish publish();

    /** Requests in flight an engine. */
    int concurrency();

    /** How new weights come into force; one way in a run. */
    enum Publish {
        /** Each version is a new, immutable adapter name. */
        VERSIONED,
        /** The served name is the slot's; an upsert replaces its weights. */
        SLOT
    }

    /** The engine in this process, on the run's model. */
    record Embedded(Publish publish, int concurrency) implements EngineConfig {
        public static final Embedded DEFAULT = new Embedded(Publish.VERSIONED, 64);

        public Embedded {
            checkConcurrency(concurrency);
        }
    }

    /**
     * SGLang servers.
     *
     * @param url        a router, or one server
     * @param managed    engines that Furlong adds to the router and takes off it; empty when the router's list is somebody else's business
     * @param adapterDir a directory that every engine sees under this same path
     */
    record Fleet(URI url, Routing routing, List<URI> managed, Publish publish, Path adapterDir, int concurrency) implements EngineConfig {
        /** Who spreads the requests. */
        public enum Routing { ROUTER, DIRECT }

        public Fleet {
            managed = List.copyOf(managed);
            checkConcurrency(concurrency);
        }
    }

    private static void checkConcurrency(int concurrency) {
        if (concurrency < 1) {
            throw new ConfigException("engine.sglang_server_concurrency", concurrency, "≥ 1");
        }
    }
}
