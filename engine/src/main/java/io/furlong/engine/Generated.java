package io.furlong.engine;

import io.furlong.wire.FinishReason;
import io.furlong.wire.LoraVersion;
import java.util.List;
import java.util.Optional;

/**
 * What a request has come to: when it has ended, and after each token of a stream.
 *
 * @param outputIds     response token ids, shape [R]
 * @param outputScores  log-prob of each; empty unless asked for
 * @param inputScores   log-probs of the prompt from the position asked for on; empty unless asked for
 * @param cachedTokens  of the prompt, those that came from the prefix cache or from a sibling computed at the same time
 * @param finish        absent while it goes on
 * @param adapterDigest SHA-256 of the weights that made the last token; absent for the base
 * @param versions      which weights made which tokens; empty for the base
 */
public record Generated(String id, int promptTokens, int cachedTokens, int[] outputIds, Scores outputScores, Scores inputScores,
                        Optional<FinishReason> finish, Optional<String> adapterDigest, List<LoraVersion> versions, int retractions) {
    public Generated {
        versions = List.copyOf(versions);
    }

    /** Output token ids that are part of the text: a matched end token is not. */
    public int textLength() {
        return finish.orElse(null) instanceof FinishReason.Stop(var matched) && matched.isInt() && outputIds.length > 0
                ? outputIds.length - 1 : outputIds.length;
    }
}
