package io.furlong.core;

import java.util.List;

/**
 * How responses are sampled. Training needs the distribution that the trainer can compute again, so a training adapter has
 * T &gt; 0, top_p 1, top_k −1, min_p 0 and no penalties; evaluation may use anything here.
 *
 * @param temperature       T; 0 means greedy
 * @param topK              −1 means off
 * @param stop              stop strings, trimmed from the text but part of the trained tokens
 */
public record SamplingConfig(double temperature, double topP, int topK, double minP, double frequencyPenalty,
                             double presencePenalty, double repetitionPenalty, int maxNewTokens, int minNewTokens,
                             List<String> stop, List<Integer> stopTokenIds, IgnoreEos eos) {
    /** Whether the end token ends a response. */
    public enum IgnoreEos { STOP_AT_EOS, IGNORE_EOS }

    public SamplingConfig {
        stop = List.copyOf(stop);
        stopTokenIds = List.copyOf(stopTokenIds);
        Check.field("sampling.temperature", temperature, temperature >= 0 && Double.isFinite(temperature), "a finite number ≥ 0");
        Check.field("sampling.top_p", topP, topP > 0 && topP <= 1, "above 0 and at most 1");
        Check.field("sampling.top_k", topK, topK == -1 || topK >= 1, "−1 (off) or ≥ 1");
        Check.field("sampling.min_p", minP, minP >= 0 && minP <= 1, "from 0 to 1");
        Check.field("sampling.frequency_penalty", frequencyPenalty, Math.abs(frequencyPenalty) <= 2, "from −2 to 2");
        Check.field("sampling.presence_penalty", presencePenalty, Math.abs(presencePenalty) <= 2, "from −2 to 2");
        Check.field("sampling.repetition_penalty", repetitionPenalty, repetitionPenalty > 0 && repetitionPenalty <= 2, "above 0 and at most 2");
        Check.field("sampling.max_new_tokens", maxNewTokens, maxNewTokens >= 1, "≥ 1");
        Check.field("sampling.min_new_tokens", minNewTokens, minNewTokens >= 0 && minNewTokens <= maxNewTokens, "from 0 to max_new_tokens");
    }

    public static SamplingConfig at(double temperature, int maxNewTokens) {
        return new SamplingConfig(temperature, 1, -1, 0, 0, 0, 1, maxNewTokens, 0, List.of(), List.of(), IgnoreEos.STOP_AT_EOS);
    }

    /** The same limits and stops at another temperature, everything else off. */
    public SamplingConfig withTemperature(double t) {
        return new SamplingConfig(t, 1, -1, 0, 0, 0, 1, maxNewTokens, minNewTokens, stop, stopTokenIds, eos);
    }
}
