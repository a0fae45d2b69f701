package io.furlong.engine;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What an engine is started with; the names are SGLang's flags.
 *
 * @param model                        Hugging Face model directory
 * @param host                         address to listen on
 * @param port                         0 takes a free one
 * @param apiKey                       bearer token that requests must carry; needed off loopback
 * @param servedModelName              name of the base model in {@code /v1/models}; the directory's name if absent
 * @param enableLora                   adapters may be loaded
 * @param maxLorasPerBatch             distinct adapters in one step, the base not counted; others wait
 * @param maxLoadedLoras               adapters held at once; beyond it the one unused for longest goes, if none is unused the load is refused
 * @param maxLoraRank                  highest rank that may be loaded
 * @param adapterRoots                 directories that adapters must lie in; empty means anywhere, allowed on loopback only
 * @param skipTokenizerInit            token ids only, no text
 * @param enableDeterministicInference a seeded request's tokens and log-probs are bit for bit the same whatever else is in the batch
 * @param incrementalStreamingOutput   stream chunks carry what is new, not everything so far
 * @param maxRunningRequests           sequences in one step; others wait
 * @param maxQueuedRequests            waiting requests beyond which new ones get 503
 * @param contextLength                prompt and response together; the model's own if absent
 * @param maxTotalTokens               positions that the key-value cache may hold, counting every running row at the length of the longest
 * @param prefixCacheTokens            positions of finished prompts kept for reuse; 0 turns reuse off
 * @param randomSeed                   seeds requests that bring none
 */
public record EngineOptions(Path model, String host, int port, Optional<String> apiKey, Optional<String> servedModelName, boolean enableLora,
                            int maxLorasPerBatch, OptionalInt maxLoadedLoras, OptionalInt maxLoraRank, List<Path> adapterRoots,
                            boolean skipTokenizerInit, boolean enableDeterministicInference, boolean incrementalStreamingOutput,
                            int maxRunningRequests, int maxQueuedRequests, OptionalInt contextLength, OptionalInt maxTotalTokens,
                            OptionalInt prefixCacheTokens, OptionalLong randomSeed) {
    /** Places enough for eight adapters one step behind, their evaluations and two to spare. */
    public static final int DEFAULT_LORAS_PER_BATCH = 32;
    public static final int DEFAULT_RUNNING_REQUESTS = 64;
    public static final int DEFAULT_QUEUED_REQUESTS = 4096;

    public EngineOptions {
        adapterRoots = adapterRoots.stream().map(root -> root.toAbsolutePath().normalize()).toList();
        atLeast("max-loras-per-batch", maxLorasPerBatch, 1);
        atLeast("max-loaded-loras", maxLoadedLoras.orElse(maxLorasPerBatch), maxLorasPerBatch);
        atLeast("max-lora-rank", maxLoraRank.orElse(1), 1);
        atLeast("max-running-requests", maxRunningRequests, 1);
        atLeast("max-queued-requests", maxQueuedRequests, 1);
        atLeast("context-length", contextLength.orElse(2), 2);
        atLeast("max-total-tokens", maxTotalTokens.orElse(2), 2);
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("--port is " + port + ", must be in 0 … 65535");
        }
        if (!isLoopback(host)) {
            if (apiKey.isEmpty()) {
                throw new IllegalArgumentException("--host " + host + " is not loopback: --api-key is needed there");
            }
            if (enableLora && adapterRoots.isEmpty()) {
                throw new IllegalArgumentException("--host " + host + " is not loopback: --adapter-root is needed there with --enable-lora");
            }
        }
    }

    /** Loopback, any free port, adapters on, everything else at its default. */
    public static EngineOptions of(Path model) {
        return builder(model).build();
    }

    public static Builder builder(Path model) {
        return new Builder(model);
    }

    private static void atLeast(String flag, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException("--" + flag + " is " + value + ", must be at least " + least);
        }
    }

    private static boolean isLoopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("--host " + host + " is not an address of this machine", e);
        }
    }

    /** Options in the making. */
    public static final class Builder {
        private final Path model;
        private String host = "127.0.0.1";
        private int port = 0;
        private Optional<String> apiKey = Optional.empty();
        private Optional<String> servedModelName = Optional.empty();
        private boolean enableLora = true;
        private int maxLorasPerBatch = DEFAULT_LORAS_PER_BATCH;
        private OptionalInt maxLoadedLoras = OptionalInt.empty();
        private OptionalInt maxLoraRank = OptionalInt.empty();
        private List<Path> adapterRoots = List.of();
        private boolean skipTokenizerInit = false;
        private boolean enableDeterministicInference = false;
        private boolean incrementalStreamingOutput = false;
        private int maxRunningRequests = DEFAULT_RUNNING_REQUESTS;
        private int maxQueuedRequests = DEFAULT_QUEUED_REQUESTS;
        private OptionalInt contextLength = OptionalInt.empty();
        private OptionalInt maxTotalTokens = OptionalInt.empty();
        private OptionalInt prefixCacheTokens = OptionalInt.empty();
        private OptionalLong randomSeed = OptionalLong.empty();

        private Builder(Path model) {
            this.model = model;
        }

        public Builder host(String value) {
            host = value;
            return this;
        }

        public Builder port(int value) {
            port = value;
            return this;
        }

        public Builder apiKey(String value) {
            apiKey = Optional.of(value);
            return this;
        }

        public Builder servedModelName(String value) {
            servedModelName = Optional.of(value);
            return this;
        }

        public Builder enableLora(boolean value) {
            enableLora = value;
            return this;
        }

        public Builder maxLorasPerBatch(int value) {
            maxLorasPerBatch = value;
            return this;
        }

        public Builder maxLoadedLoras(int value) {
            maxLoadedLoras = OptionalInt.of(value);
            return this;
        }

        public Builder maxLoraRank(int value) {
            maxLoraRank = OptionalInt.of(value);
            return this;
        }

        public Builder adapterRoots(List<Path> value) {
            adapterRoots = value;
            return this;
        }

        public Builder skipTokenizerInit(boolean value) {
            skipTokenizerInit = value;
            return this;
        }

        public Builder enableDeterministicInference(boolean value) {
            enableDeterministicInference = value;
            return this;
        }

        public Builder incrementalStreamingOutput(boolean value) {
            incrementalStreamingOutput = value;
            return this;
        }

        public Builder maxRunningRequests(int value) {
            maxRunningRequests = value;
            return this;
        }

        public Builder maxQueuedRequests(int value) {
            maxQueuedRequests = value;
            return this;
        }

        public Builder contextLength(int value) {
            contextLength = OptionalInt.of(value);
            return this;
        }

        public Builder maxTotalTokens(int value) {
            maxTotalTokens = OptionalInt.of(value);
            return this;
        }

        public Builder prefixCacheTokens(int value) {
            prefixCacheTokens = OptionalInt.of(value);
            return this;
        }

        public Builder randomSeed(long value) {
            randomSeed = OptionalLong.of(value);
            return this;
        }

        public EngineOptions build() {
            return new EngineOptions(model, host, port, apiKey, servedModelName, enableLora, maxLorasPerBatch, maxLoadedLoras, maxLoraRank,
                    adapterRoots, skipTokenizerInit, enableDeterministicInference, incrementalStreamingOutput, maxRunningRequests,
                    maxQueuedRequests, contextLength, maxTotalTokens, prefixCacheTokens, randomSeed);
        }
    }
}
