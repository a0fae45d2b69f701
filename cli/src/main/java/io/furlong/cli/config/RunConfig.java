package io.furlong.cli.config;

import io.furlong.control.config.AdapterConfigReader;
import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One run.yaml, whole and checked.
 *
 * @param directory     where the file lies; its relative paths start there
 * @param model         a Hugging Face directory
 * @param store         a SQLite file, {@code memory}, or a {@code jdbc:postgresql:} URL
 * @param runs          each run leaves a directory of its own in here
 * @param customRewards class names that {@code custom_rm_path} may name
 * @param adapterReader reads what is registered later, with the defaults of this file and within the API's roots
 * @param adapters      by name, in the order of the file
 */
public record RunConfig(Path directory, Path model, long seed, Repeatability repeatability, EngineConfig engine, Lora lora, Rollout rollout,
                        String store, Path runs, List<String> customRewards, ApiConfig api, AdapterConfigReader adapterReader,
                        Map<String, AdapterConfig> adapters) {
    /** What a seed promises. */
    public enum Repeatability {
        /** The same draws and first weights; the order of things is left to the machine. */
        SEEDED,
        /** The same weights, bit for bit; embedded engine only, about three times slower. */
        DETERMINISTIC
    }

    /**
     * @param maxAdapters slots
     * @param maxRank     highest rank of an adapter
     */
    public record Lora(int maxAdapters, int maxRank) {
        public static final Lora DEFAULT = new Lora(8, 32);

        public Lora {
            positive("lora.max_adapters", maxAdapters);
            positive("lora.max_rank", maxRank);
        }
    }

    /**
     * @param globalBatchSize   samples of a full train batch; an adapter's step may span batches
     * @param maxCoalesceWait   how long a partial batch waits for more
     * @param emptyBatchTimeout after which having nothing to train is an event
     * @param maxRetries        how often a prompt is tried again before it is FAILED
     */
    public record Rollout(int globalBatchSize, Duration maxCoalesceWait, Duration emptyBatchTimeout, int maxRetries) {
        public static final Rollout DEFAULT = new Rollout(256, Duration.ofMillis(500), Duration.ofSeconds(30), 3);

        public Rollout {
            positive("rollout.global_batch_size", globalBatchSize);
            if (maxRetries < 0) {
                throw new ConfigException("rollout.max_retries", maxRetries, "≥ 0");
            }
            if (emptyBatchTimeout.isZero()) {
                throw new ConfigException("rollout.empty_batch_timeout", emptyBatchTimeout.toMillis() + "ms", "above 0");
            }
        }
    }

    public RunConfig {
        customRewards = List.copyOf(customRewards);
        adapters = Collections.unmodifiableMap(new LinkedHashMap<>(adapters));
    }

    private static void positive(String field, int value) {
        if (value < 1) {
            throw new ConfigException(field, value, "≥ 1");
        }
    }
}
