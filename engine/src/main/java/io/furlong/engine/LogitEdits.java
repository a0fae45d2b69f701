package io.furlong.engine;

import io.furlong.wire.SamplingParams;
import java.util.Set;

/**
 * What a request's own parameters do to its logits before the softmax, in SGLang's order: frequency and presence penalty, end tokens barred until
 * {@code min_new_tokens}, repetition penalty, logit bias. Penalties count the tokens of the output only.
 */
record LogitEdits(Set<Integer> endTokens) {
    static boolean countsOutput(SamplingParams p) {
        return p.frequencyPenalty() != 0 || p.presencePenalty() != 0 || p.repetitionPenalty() != 1;
    }

    boolean needed(Request request) {
        SamplingParams p = request.params();
        return request.outputs() < p.minNewTokens() || !p.logitBias().isEmpty() || !request.outputCounts().isEmpty();
    }

    /** @param logits shape [vocab], changed in place */
    void apply(float[] logits, Request request) {
        SamplingParams p = request.params();
        request.outputCounts().forEach((token, count) ->
                logits[token] -= (float) (p.frequencyPenalty() * count + p.presencePenalty()));
        if (request.outputs() < p.minNewTokens()) {
            endTokens.forEach(token -> logits[token] = Float.NEGATIVE_INFINITY);
            p.stopTokenIds().forEach(token -> logits[token] = Float.NEGATIVE_INFINITY);
        }
        if (p.repetitionPenalty() != 1) {
            float penalty = (float) p.repetitionPenalty();
            request.outputCounts().keySet().forEach(token -> logits[token] = logits[token] > 0 ? logits[token] / penalty : logits[token] * penalty);
        }
        p.logitBias().forEach((token, bias) -> logits[token] += bias.floatValue());
    }
}
