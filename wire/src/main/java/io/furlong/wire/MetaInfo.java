package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * {@code meta_info} of a reply. Only {@code id} is always there: a request aborted while it waited has little else.
 *
 * @param finishReason         null in chunks that are not the last
 * @param weightVersion        of the whole server when the reply was sent, not of an adapter
 * @param e2eLatency           seconds, last chunk only
 * @param inputTokenLogprobs   of prompt tokens from {@code logprob_start_len} on, of the raw logits; the first has none
 * @param outputTokenLogprobs  log-softmax of the logits after penalties, logit bias and temperature, before top-k, top-p and min-p
 * @param outputTopLogprobs    per position the most likely tokens; an absent inner list is null on the wire
 * @param loraVersions         adapters replaced in place: which weights made which tokens (not in SGLang's releases)
 * @param loraDigest           SHA-256 of the weights that made the last token, computed by the engine itself (not in SGLang)
 */
public record MetaInfo(String id, @JsonInclude(JsonInclude.Include.ALWAYS) Optional<FinishReason> finishReason, OptionalInt promptTokens, OptionalInt completionTokens,
                       OptionalInt cachedTokens, Optional<String> weightVersion, OptionalInt numRetractions, OptionalInt reasoningTokens,
                       OptionalDouble e2eLatency, Optional<List<TokenLogprob>> inputTokenLogprobs, Optional<List<TokenLogprob>> outputTokenLogprobs,
                       OptionalInt outputTokenLogprobsLength, Optional<List<Optional<List<TokenLogprob>>>> inputTopLogprobs,
                       Optional<List<Optional<List<TokenLogprob>>>> outputTopLogprobs,
                       Optional<List<Optional<List<TokenLogprob>>>> inputTokenIdsLogprobs,
                       Optional<List<Optional<List<TokenLogprob>>>> outputTokenIdsLogprobs, Optional<List<LoraVersion>> loraVersions,
                       Optional<String> loraDigest) {}
