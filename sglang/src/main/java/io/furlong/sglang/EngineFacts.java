package io.furlong.sglang;

import io.furlong.wire.ServerInfo;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What an engine says about itself, as far as decisions hang on it.
 *
 * @param places        adapters it has room for beside each other. On SGLang those that can be in one batch, of which the base model
 *                      takes one; on the embedded engine, where more than fit in a batch take turns, those that can be loaded
 * @param targets       linear layers that adapters may have; empty when it does not say
 * @param context       longest sequence, prompt and response together
 * @param longestPrompt in tokens
 * @param dtype         of its weights, as text
 * @param embedded      Furlong's own engine: float32, so log-probs can be compared closely
 * @param inplaceUpsert a loaded name's weights can be replaced
 * @param abortPrefix   aborts by prefix of the request id
 * @param tokenizer     has one, so it returns text and understands stop strings
 */
public record EngineFacts(String version, boolean loraEnabled, OptionalInt maxRank, int places, List<String> targets, OptionalInt context,
                          OptionalInt longestPrompt, Optional<String> dtype, boolean embedded, boolean inplaceUpsert, boolean abortPrefix,
                          boolean tokenizer) {
    /** SGLang's default of {@code --max-loras-per-batch}. */
    private static final int DEFAULT_PLACES = 8;

    /** SGLang's names of layers that it fuses, and what they are made of. */
    private static final Map<String, List<String>> FUSED = Map.of("qkv_proj", List.of("q_proj", "k_proj", "v_proj"), "gate_up_proj", List.of("gate_proj", "up_proj"));

    /** Whether adapters may have a delta on this layer; true as well when the server does not say. */
    boolean targets(String layer) {
        String name = layer.substring(layer.lastIndexOf('.') + 1);
        return targets.isEmpty() || targets.contains("all") || targets.contains(name) || FUSED.entrySet().stream()
                .anyMatch(f -> targets.contains(f.getKey()) && f.getValue().contains(name));
    }

    /** @param modelLength {@code max_model_len} of the base model's card, for servers started without {@code --context-length} */
    static EngineFacts of(ServerInfo info, Optional<String> dtype, OptionalInt modelLength) {
        boolean embedded = info.furlong().isPresent();
        int slots = info.maxLorasPerBatch().orElse(DEFAULT_PLACES);
        int places = embedded ? info.maxLoadedLoras().orElse(slots) : Math.max(0, slots - 1);
        return new EngineFacts(info.version().orElse("unknown"), info.enableLora().orElse(false), info.maxLoraRank(), places,
                info.loraTargetModules().orElse(List.of()), info.contextLength().isPresent() ? info.contextLength() : modelLength, info.maxReqInputLen(), dtype, embedded,
                info.furlong().map(ServerInfo.Furlong::inplaceUpsert).orElse(false),
                info.furlong().map(ServerInfo.Furlong::abortPrefix).orElse(false), !info.skipTokenizerInit().orElse(false));
    }
}
