package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * {@code sampling_params} of a generate request: SGLang's keys, defaults and bounds ({@code sampling/sampling_params.py}).
 * Numbers are always written, since a server may have preferred values of its own; empty lists and maps are left out.
 *
 * @param maxNewTokens      ≥ 0; absent means up to the context length
 * @param minNewTokens      before this many output tokens neither an end token nor a stop string ends the response
 * @param temperature       ≥ 0; below {@link #GREEDY_BELOW} greedy
 * @param topK              ≥ 1, or −1 for all
 * @param frequencyPenalty  subtracted once per earlier occurrence in the output, [−2, 2]
 * @param presencePenalty   subtracted once if the token occurred in the output, [−2, 2]
 * @param repetitionPenalty divides positive and multiplies negative logits of tokens that occurred in the output, (0, 2]
 * @param stop              strings that end the response
 * @param stopRegex         regular expressions (RE2 syntax) a match of which in the output ends the response
 * @param stopTokenIds      token ids that end the response, beside the model's own end tokens; ignored with {@code ignoreEos}
 * @param ignoreEos         no token ends the response
 * @param noStopTrim        the stop string stays in the text
 * @param logitBias         added to the logits, by token id
 * @param samplingSeed      the same seed, prompt and weights give the same response
 */
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record SamplingParams(OptionalInt maxNewTokens, int minNewTokens, double temperature, double topP, int topK, double minP,
                             double frequencyPenalty, double presencePenalty, double repetitionPenalty, List<String> stop, List<String> stopRegex,
                             List<Integer> stopTokenIds, int n, boolean ignoreEos, boolean skipSpecialTokens, boolean spacesBetweenSpecialTokens,
                             boolean noStopTrim, OptionalInt streamInterval, Map<Integer, Double> logitBias, OptionalLong samplingSeed) {
    public static final double GREEDY_BELOW = 1e-6;
    public static final SamplingParams DEFAULT = new SamplingParams(OptionalInt.of(128), 0, 1, 1, -1, 0, 0, 0, 1, List.of(), List.of(), List.of(), 1, false,
            true, true, false, OptionalInt.empty(), Map.of(), OptionalLong.empty());

    public SamplingParams {
        stop = List.copyOf(stop);
        stopRegex = List.copyOf(stopRegex);
        stopTokenIds = List.copyOf(stopTokenIds);
        logitBias = Collections.unmodifiableMap(new TreeMap<>(logitBias));
    }

    public boolean greedy() {
        return temperature < GREEDY_BELOW;
    }

    public static Builder builder() {
        return DEFAULT.toBuilder();
    }

    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Whether the output's text decides when the response ends. */
    public boolean stopsAtText() {
        return !stop.isEmpty() || !stopRegex.isEmpty();
    }

    /**
     * Reads the object as strictly as SGLang does.
     *
     * @throws RejectedRequest 500 for an unknown key or a wrong type (Python's {@code TypeError}, which nobody catches there),
     *     400 for a value out of bounds and for grammars, which this engine does not have
     */
    public static SamplingParams read(JsonNode node) throws RejectedRequest {
        return SamplingParamsReader.read(node);
    }

    /** Parameters in the making; every value starts as the one of the record it was made from. */
    public static final class Builder {
        private OptionalInt maxNewTokens;
        private int minNewTokens;
        private double temperature;
        private double topP;
        private int topK;
        private double minP;
        private double frequencyPenalty;
        private double presencePenalty;
        private double repetitionPenalty;
        private List<String> stop;
        private List<String> stopRegex;
        private List<Integer> stopTokenIds;
        private int n;
        private boolean ignoreEos;
        private boolean skipSpecialTokens;
        private boolean spacesBetweenSpecialTokens;
        private boolean noStopTrim;
        private OptionalInt streamInterval;
        private Map<Integer, Double> logitBias;
        private OptionalLong samplingSeed;

        private Builder(SamplingParams from) {
            maxNewTokens = from.maxNewTokens;
            minNewTokens = from.minNewTokens;
            temperature = from.temperature;
            topP = from.topP;
            topK = from.topK;
            minP = from.minP;
            frequencyPenalty = from.frequencyPenalty;
            presencePenalty = from.presencePenalty;
            repetitionPenalty = from.repetitionPenalty;
            stop = from.stop;
            stopRegex = from.stopRegex;
            stopTokenIds = from.stopTokenIds;
            n = from.n;
            ignoreEos = from.ignoreEos;
            skipSpecialTokens = from.skipSpecialTokens;
            spacesBetweenSpecialTokens = from.spacesBetweenSpecialTokens;
            noStopTrim = from.noStopTrim;
            streamInterval = from.streamInterval;
            logitBias = from.logitBias;
            samplingSeed = from.samplingSeed;
        }

        public Builder maxNewTokens(int value) {
            maxNewTokens = OptionalInt.of(value);
            return this;
        }

        public Builder upToContextLength() {
            maxNewTokens = OptionalInt.empty();
            return this;
        }

        public Builder minNewTokens(int value) {
            minNewTokens = value;
            return this;
        }

        public Builder temperature(double value) {
            temperature = value;
            return this;
        }

        public Builder topP(double value) {
            topP = value;
            return this;
        }

        public Builder topK(int value) {
            topK = value;
            return this;
        }

        public Builder minP(double value) {
            minP = value;
            return this;
        }

        public Builder frequencyPenalty(double value) {
            frequencyPenalty = value;
            return this;
        }

        public Builder presencePenalty(double value) {
            presencePenalty = value;
            return this;
        }

        public Builder repetitionPenalty(double value) {
            repetitionPenalty = value;
            return this;
        }

        public Builder stopRegex(List<String> value) {
            stopRegex = value;
            return this;
        }

        public Builder stop(List<String> value) {
            stop = value;
            return this;
        }

        public Builder stopTokenIds(List<Integer> value) {
            stopTokenIds = value;
            return this;
        }

        public Builder n(int value) {
            n = value;
            return this;
        }

        public Builder ignoreEos(boolean value) {
            ignoreEos = value;
            return this;
        }

        public Builder skipSpecialTokens(boolean value) {
            skipSpecialTokens = value;
            return this;
        }

        public Builder spacesBetweenSpecialTokens(boolean value) {
            spacesBetweenSpecialTokens = value;
            return this;
        }

        public Builder noStopTrim(boolean value) {
            noStopTrim = value;
            return this;
        }

        public Builder streamInterval(int value) {
            streamInterval = OptionalInt.of(value);
            return this;
        }

        public Builder logitBias(Map<Integer, Double> value) {
            logitBias = value;
            return this;
        }

        public Builder samplingSeed(long value) {
            samplingSeed = OptionalLong.of(value);
            return this;
        }

        public SamplingParams build() {
            return new SamplingParams(maxNewTokens, minNewTokens, temperature, topP, topK, minP, frequencyPenalty, presencePenalty, repetitionPenalty,
                    stop, stopRegex, stopTokenIds, n, ignoreEos, skipSpecialTokens, spacesBetweenSpecialTokens, noStopTrim, streamInterval, logitBias,
                    samplingSeed);
        }
    }
}
