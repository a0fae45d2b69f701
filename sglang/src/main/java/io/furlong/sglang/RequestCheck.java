package io.furlong.sglang;

import io.furlong.core.SampleRequest;
import io.furlong.core.SamplingConfig;
import io.furlong.wire.SamplingParams;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What an engine would refuse, found before it is asked: on released SGLang each refused request of an adapter leaks a count there, after
 * which the adapter can't be unloaded.
 */
final class RequestCheck {
    private RequestCheck() {}

    /** @return what is wrong with it; empty when nothing is */
    static Optional<String> problem(SampleRequest request, List<EngineFacts> engines) {
        int prompt = request.inputIds().length;
        SamplingConfig sampling = request.sampling();
        if (prompt == 0) {
            return Optional.of("the prompt has no tokens");
        }
        for (int id : request.inputIds()) {
            if (id < 0) {
                return Optional.of("the prompt holds token id " + id);
            }
        }
        int context = least(engines, EngineFacts::context);
        if ((long) prompt + sampling.maxNewTokens() > context) {
            return Optional.of("the prompt has " + prompt + " tokens and max_new_tokens is " + sampling.maxNewTokens() + ", together above the engines' context length " + context);
        }
        int longest = least(engines, EngineFacts::longestPrompt);
        if (prompt > longest) {
            return Optional.of("the prompt has " + prompt + " tokens, the engines take at most " + longest);
        }
        boolean tokenizer = engines.stream().allMatch(EngineFacts::tokenizer);
        if (!tokenizer && (!sampling.stop().isEmpty() || sampling.minNewTokens() > 0)) {
            return Optional.of("sampling.stop and min_new_tokens need engines with a tokenizer, these run with --skip-tokenizer-init");
        }
        return Optional.empty();
    }

    /** Only keys that every SGLang knows, and that its router passes on. */
    static SamplingParams params(SamplingConfig s, long seed) {
        return SamplingParams.builder().maxNewTokens(s.maxNewTokens()).minNewTokens(s.minNewTokens()).temperature(s.temperature()).topP(s.topP())
                .topK(s.topK()).minP(s.minP()).frequencyPenalty(s.frequencyPenalty()).presencePenalty(s.presencePenalty())
                .repetitionPenalty(s.repetitionPenalty()).stop(s.stop()).stopTokenIds(s.stopTokenIds())
                .ignoreEos(s.eos() == SamplingConfig.IgnoreEos.IGNORE_EOS).samplingSeed(seed).build();
    }

    private static int least(List<EngineFacts> engines, java.util.function.Function<EngineFacts, OptionalInt> fact) {
        return engines.stream().map(fact).filter(OptionalInt::isPresent).mapToInt(OptionalInt::getAsInt).min().orElse(Integer.MAX_VALUE);
    }
}
