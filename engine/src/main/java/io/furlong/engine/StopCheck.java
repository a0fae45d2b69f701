package io.furlong.engine;

import com.google.re2j.Pattern;
import io.furlong.wire.FinishReason;
import io.furlong.wire.SamplingParams;
import java.util.Optional;
import java.util.Set;

/**
 * Whether a sequence ends after its newest token. The order is SGLang's ({@code Req.check_finished}): length first, so an end token at the very
 * last place counts as length; then tokens, which {@code ignore_eos} switches off altogether; then strings, then patterns.
 */
record StopCheck(Set<Integer> endTokens) {
    StopCheck {
        endTokens = Set.copyOf(endTokens);
    }

    Optional<FinishReason> after(Request request) {
        SamplingParams params = request.params();
        int outputs = request.outputs();
        if (outputs >= request.plan().maxNewTokens()) {
            return Optional.of(new FinishReason.Length(outputs));
        }
        int token = request.lastToken();
        if (!params.ignoreEos() && (endTokens.contains(token) || params.stopTokenIds().contains(token))) {
            return Optional.of(FinishReason.stoppedAt(token));
        }
        if (outputs >= params.minNewTokens()) {
            String text = request.outputText().toString();
            for (String stop : params.stop()) {
                if (text.contains(stop)) {
                    return Optional.of(FinishReason.stoppedAt(stop));
                }
            }
            for (Pattern pattern : request.plan().stopPatterns()) {
                if (pattern.matcher(text).find()) {
                    return Optional.of(FinishReason.stoppedAt(pattern.pattern()));
                }
            }
        }
        return Optional.empty();
    }
}
