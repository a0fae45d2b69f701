package io.furlong.wire;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * {@code GET /server_info}: of the server's many settings those that matter to a client.
 *
 * @param maxLorasPerBatch distinct adapters in one step, the base model counting as one on SGLang
 * @param maxLoadedLoras   absent means unlimited
 * @param furlong          present on Furlong's embedded engine
 */
public record ServerInfo(Optional<String> modelPath, Optional<String> servedModelName, Optional<String> version, Optional<String> status,
                         Optional<Boolean> enableLora, OptionalInt maxLoraRank, OptionalInt maxLorasPerBatch, OptionalInt maxLoadedLoras,
                         Optional<List<String>> loraTargetModules, OptionalInt tokenizerWorkerNum, OptionalInt dpSize, OptionalInt contextLength,
                         OptionalInt maxTotalNumTokens, OptionalInt maxReqInputLen, OptionalInt maxRunningRequests,
                         Optional<Boolean> skipTokenizerInit, Optional<Boolean> enableDeterministicInference,
                         Optional<Boolean> incrementalStreamingOutput, Optional<Furlong> furlong) {
    /**
     * What the embedded engine can do beyond SGLang's releases.
     *
     * @param inplaceUpsert {@code upsert} on {@code /load_lora_adapter}, with {@code meta_info.lora_versions}
     * @param abortPrefix   {@code prefix} on {@code /abort_request}
     * @param loraDigest    {@code meta_info.lora_digest} and {@code expected_digest}
     * @param tokenizer     fingerprint of the tokenizer's files, SHA-256; absent without a tokenizer
     */
    public record Furlong(boolean inplaceUpsert, boolean abortPrefix, boolean loraDigest, Optional<String> tokenizer) {}
}
