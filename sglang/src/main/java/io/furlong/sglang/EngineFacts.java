package io.furlong.sglang;

import io.furlong.wire.ServerInfo;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What an engine says about itself, as far as decisions hang on it.
 *
 * @param places        distinct adapters that can be in one batch, the base model not counted
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

    /** @param modelLength {@code max_model_len} of the base model's card, for servers started without {@code --context-length} */
    static EngineFacts of(ServerInfo info, Optional<String> dtype, OptionalInt modelLength) {
        boolean embedded = info.furlong().isPresent();
        int slots = info.maxLorasPerBatch().orElse(DEFAULT_PLACES);
        return new EngineFacts(info.version().orElse("unknown"), info.enableLora().orElse(false), info.maxLoraRank(), Math.max(0, slots - 1),
                info.loraTargetModules().orElse(List.of()), info.contextLength().isPresent() ? info.contextLength() : modelLength, info.maxReqInputLen(), dtype, embedded,
                info.furlong().map(ServerInfo.Furlong::inplaceUpsert).orElse(false),
                info.furlong().map(ServerInfo.Furlong::abortPrefix).orElse(false), !info.skipTokenizerInit().orElse(false));
    }
}
