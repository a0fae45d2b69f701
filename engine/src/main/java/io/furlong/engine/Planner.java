package io.furlong.engine;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.torch.tokenizer.TextStream;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.SamplingParams;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.LongSupplier;

/** Checks a request against the model and the engine's limits before anything is held for it, and settles what it left open. Safe for many threads. */
final class Planner {
    /** SGLang's seed for requests without one in the deterministic setting. */
    static final long DETERMINISTIC_SEED = 42;

    private final ModelConfig model;
    private final Optional<HfTokenizer> tokenizer;
    private final int contextLength;
    private final int totalTokens;
    private final LongSupplier seeds;

    Planner(ModelConfig model, Optional<HfTokenizer> tokenizer, int contextLength, int totalTokens, LongSupplier seeds) {
        this.model = model;
        this.tokenizer = tokenizer;
        this.contextLength = contextLength;
        this.totalTokens = totalTokens;
        this.seeds = seeds;
    }

    Request.Plan plan(GenerateRequest ask) throws RejectedRequest {
        SamplingParams params = ask.samplingParams();
        int[] prompt = prompt(ask);
        check(prompt.length > 0, "input_ids cannot be empty.");
        for (int id : prompt) {
            checkToken("input_ids", id);
        }
        check(prompt.length < contextLength, "The input (" + prompt.length + " tokens) is longer than the model's context length (" + contextLength + " tokens).");
        int most = contextLength - prompt.length;
        int maxNewTokens = params.maxNewTokens().orElse(Math.min(most, Math.max(totalTokens - prompt.length, 0)));
        check(maxNewTokens <= most, "Requested token count exceeds the model's maximum context length of " + contextLength
                + " tokens. You requested a total of " + (prompt.length + (long) maxNewTokens) + " tokens: " + prompt.length
                + " tokens from the input messages and " + maxNewTokens + " tokens for the completion.");
        check(prompt.length + maxNewTokens <= totalTokens, "Input length (" + prompt.length + " tokens) and max_new_tokens (" + maxNewTokens
                + ") together exceed the maximum allowed length (" + totalTokens + " tokens, --max-total-tokens).");
        checkSampling(params);
        checkLogprobs(ask, prompt.length);
        return new Request.Plan(ask.rid().orElseGet(() -> UUID.randomUUID().toString().replace("-", "")), ask, prompt, maxNewTokens,
                params.samplingSeed().orElseGet(seeds), ask.stream() ? params.streamInterval().orElse(1) : 0,
                params.stopsAtText() ? tokenizer.map(TextStream::new) : Optional.empty(), patterns(params));
    }

    private int[] prompt(GenerateRequest ask) throws RejectedRequest {
        if (ask.inputIds().isPresent()) {
            return ask.inputIds().get();
        }
        check(tokenizer.isPresent(), "The engine initialized with skip_tokenizer_init=True cannot accept text prompts. Please provide input_ids or "
                + "re-initialize the engine with skip_tokenizer_init=False.");
        return tokenizer.orElseThrow().encode(ask.text().orElseThrow());
    }

    private void checkSampling(SamplingParams params) throws RejectedRequest {
        check(tokenizer.isPresent() || !params.stopsAtText(), "stop and stop_regex need a tokenizer; the engine runs with --skip-tokenizer-init. Use stop_token_ids.");
        for (int id : params.stopTokenIds()) {
            checkToken("stop_token_ids", id);
        }
        for (int id : params.logitBias().keySet()) {
            checkToken("logit_bias", id);
        }
    }

    private static List<Pattern> patterns(SamplingParams params) throws RejectedRequest {
        List<Pattern> patterns = new ArrayList<>();
        for (String regex : params.stopRegex()) {
            try {
                patterns.add(Pattern.compile(regex));
            } catch (PatternSyntaxException e) {
                throw new RejectedRequest(ErrorReply.badValue("stop_regex '" + regex + "' is not a regular expression in RE2 syntax: " + e.getDescription() + "."));
            }
        }
        return patterns;
    }

    private void checkLogprobs(GenerateRequest ask, int promptLength) throws RejectedRequest {
        check(ask.logprobStartLen() >= -1, "logprob_start_len must be -1 or at least 0, got " + ask.logprobStartLen() + ".");
        check(ask.logprobStartLen() <= promptLength, "logprob_start_len (" + ask.logprobStartLen() + ") is higher than the number of input tokens ("
                + promptLength + "). Please use a smaller logprob_start_len.");
        check(ask.topLogprobsNum() >= 0 && ask.topLogprobsNum() <= model.vocabSize(), "top_logprobs_num must be in [0, vocabulary size "
                + model.vocabSize() + "], got " + ask.topLogprobsNum() + ".");
        for (int id : ask.tokenIdsLogprob()) {
            checkToken("token_ids_logprob", id);
        }
    }

    private void checkToken(String field, int id) throws RejectedRequest {
        check(id >= 0 && id < model.vocabSize(), field + " contains " + id + ", which is outside the vocabulary of " + model.vocabSize() + " tokens.");
    }

    private static void check(boolean right, String message) throws RejectedRequest {
        if (!right) {
            throw new RejectedRequest(ErrorReply.badValue(message));
        }
    }
}
