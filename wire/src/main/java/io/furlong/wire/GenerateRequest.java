package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Optional;

/**
 * {@code POST /generate} for one prompt: the form a client should send, and what each item of a batch comes down to.
 * Exactly one of {@code text} and {@code inputIds} is there.
 *
 * @param rid             request id; aborts match by its start
 * @param inputIds        prompt token ids, shape [P]
 * @param logprobStartLen first prompt position whose log-prob is wanted; −1 for output tokens only
 * @param topLogprobsNum  so many most likely tokens at each position
 * @param tokenIdsLogprob log-probs of these tokens at each position
 * @param loraPath        the served adapter's <em>name</em>, whatever the field is called; absent means the base model
 * @param extraKey        keeps prefix caches apart
 */
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record GenerateRequest(Optional<String> rid, Optional<String> text, Optional<int[]> inputIds, SamplingParams samplingParams,
                              @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean returnLogprob, int logprobStartLen,
                              @JsonInclude(JsonInclude.Include.NON_DEFAULT) int topLogprobsNum, List<Integer> tokenIdsLogprob,
                              @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean returnTextInLogprobs,
                              @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean stream, Optional<String> loraPath, Optional<String> extraKey) {
    public GenerateRequest {
        if (text.isPresent() == inputIds.isPresent()) {
            throw new IllegalArgumentException("exactly one of text and input_ids is needed");
        }
        tokenIdsLogprob = List.copyOf(tokenIdsLogprob);
    }

    public static GenerateRequest ofIds(int[] inputIds, SamplingParams params) {
        return new GenerateRequest(Optional.empty(), Optional.empty(), Optional.of(inputIds), params, false, -1, 0, List.of(), false, false,
                Optional.empty(), Optional.empty());
    }

    public static GenerateRequest ofText(String text, SamplingParams params) {
        return new GenerateRequest(Optional.empty(), Optional.of(text), Optional.empty(), params, false, -1, 0, List.of(), false, false,
                Optional.empty(), Optional.empty());
    }

    public GenerateRequest withRid(String value) {
        return new GenerateRequest(Optional.of(value), text, inputIds, samplingParams, returnLogprob, logprobStartLen, topLogprobsNum,
                tokenIdsLogprob, returnTextInLogprobs, stream, loraPath, extraKey);
    }

    public GenerateRequest withAdapter(String name) {
        return new GenerateRequest(rid, text, inputIds, samplingParams, returnLogprob, logprobStartLen, topLogprobsNum, tokenIdsLogprob,
                returnTextInLogprobs, stream, Optional.of(name), extraKey);
    }

    public GenerateRequest withExtraKey(String value) {
        return new GenerateRequest(rid, text, inputIds, samplingParams, returnLogprob, logprobStartLen, topLogprobsNum, tokenIdsLogprob,
                returnTextInLogprobs, stream, loraPath, Optional.of(value));
    }

    /** Asks for the log-probs of the output tokens. */
    public GenerateRequest withLogprobs() {
        return withLogprobs(-1, 0, List.of());
    }

    public GenerateRequest withLogprobs(int startLen, int top, List<Integer> tokenIds) {
        return new GenerateRequest(rid, text, inputIds, samplingParams, true, startLen, top, tokenIds, returnTextInLogprobs, stream, loraPath,
                extraKey);
    }

    public GenerateRequest streaming() {
        return new GenerateRequest(rid, text, inputIds, samplingParams, returnLogprob, logprobStartLen, topLogprobsNum, tokenIdsLogprob,
                returnTextInLogprobs, true, loraPath, extraKey);
    }
}
