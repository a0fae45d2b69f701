package io.furlong.core;

import java.util.List;

/**
 * What the engine returned.
 *
 * @param tokenIds     response token ids, end token included, shape [R]
 * @param logProbs     log-prob of each, natural log, at the request's temperature, shape [R]
 * @param text         the response as text where the engine gives it; empty text otherwise
 * @param promptTokens prompt length as the engine counted it
 * @param cachedTokens of the prompt, those that came from the engine's prefix cache
 * @param spans        slot mode only: which versions made which tokens
 * @param engine       base URL of the engine, or its name
 */
public record SampleResult(int[] tokenIds, float[] logProbs, String text, FinishReason finish, int promptTokens, int cachedTokens,
                           List<VersionSpan> spans, String engine) {
    public SampleResult {
        if (tokenIds.length != logProbs.length) {
            throw new IllegalArgumentException("engine " + engine + " returned " + tokenIds.length + " tokens and "
                    + logProbs.length + " log-probs");
        }
        spans = List.copyOf(spans);
    }
}
