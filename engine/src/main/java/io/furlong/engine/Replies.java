package io.furlong.engine;

import io.furlong.engine.Scores.Score;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.wire.FinishReason;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.MetaInfo;
import io.furlong.wire.SamplingParams;
import io.furlong.wire.TokenLogprob;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** What was generated, as SGLang's reply says it. Safe for many threads. */
final class Replies {
    private static final char INCOMPLETE = '\uFFFD';

    private final Optional<HfTokenizer> tokenizer;

    Replies(Optional<HfTokenizer> tokenizer) {
        this.tokenizer = tokenizer;
    }

    /**
     * The reply with everything so far.
     *
     * @param seconds       since the request came in
     * @param weightVersion of the server
     * @param index         in a batch stream
     */
    GenerateResponse reply(GenerateRequest ask, Generated generated, double seconds, String weightVersion, OptionalInt index) {
        return new GenerateResponse(text(ask, generated), generated.outputIds(), meta(ask, generated, seconds, weightVersion), index);
    }

    /** The part of {@code whole} that {@code before} did not have: what {@code --incremental-streaming-output} sends. */
    GenerateResponse increment(GenerateRequest ask, GenerateResponse whole, Generated generated, GenerateResponse before) {
        int from = before.outputIds().length;
        Optional<String> text = whole.text().map(t -> t.substring(Math.min(before.text().orElse("").length(), t.length())));
        MetaInfo m = whole.metaInfo();
        Scores fresh = ask.returnLogprob() ? generated.outputScores().from(from) : Scores.NONE;
        return new GenerateResponse(text, Arrays.copyOfRange(whole.outputIds(), from, whole.outputIds().length),
                new MetaInfo(m.id(), m.finishReason(), m.promptTokens(), m.completionTokens(), m.cachedTokens(), m.weightVersion(),
                        m.numRetractions(), m.reasoningTokens(), m.e2eLatency(), m.inputTokenLogprobs(),
                        m.outputTokenLogprobs().map(all -> triples(ask, fresh)), m.outputTokenLogprobsLength(), m.inputTopLogprobs(),
                        m.outputTopLogprobs().map(all -> lists(ask, fresh.top())), m.inputTokenIdsLogprobs(),
                        m.outputTokenIdsLogprobs().map(all -> lists(ask, fresh.chosen())), m.loraVersions(), m.loraDigest()),
                whole.index());
    }

    private MetaInfo meta(GenerateRequest ask, Generated g, double seconds, String weightVersion) {
        boolean scored = ask.returnLogprob();
        boolean top = scored && ask.topLogprobsNum() > 0;
        boolean chosen = scored && !ask.tokenIdsLogprob().isEmpty();
        // A request aborted before it ran has no prompt_tokens in SGLang's reply.
        boolean ran = !g.finish().equals(Optional.of(FinishReason.Abort.of(Scheduler.ABORTED_WAITING)));
        return new MetaInfo(g.id(), g.finish(), when(ran, g.promptTokens()), OptionalInt.of(g.outputIds().length), when(ran, g.cachedTokens()),
                Optional.of(weightVersion), OptionalInt.of(g.retractions()), OptionalInt.of(0),
                g.finish().isPresent() ? OptionalDouble.of(seconds) : OptionalDouble.empty(),
                when(scored, () -> triples(ask, g.inputScores())), when(scored, () -> triples(ask, g.outputScores())),
                when(scored, g.outputIds().length), when(top, () -> lists(ask, g.inputScores().top())),
                when(top, () -> lists(ask, g.outputScores().top())), when(chosen, () -> lists(ask, g.inputScores().chosen())),
                when(chosen, () -> lists(ask, g.outputScores().chosen())),
                g.versions().isEmpty() ? Optional.empty() : Optional.of(g.versions()), g.adapterDigest());
    }

    private Optional<String> text(GenerateRequest ask, Generated generated) {
        if (tokenizer.isEmpty()) {
            return Optional.empty();
        }
        SamplingParams params = ask.samplingParams();
        int[] ids = Arrays.copyOf(generated.outputIds(), params.noStopTrim() ? generated.outputIds().length : generated.textLength());
        String text = decode(ids, params);
        if (generated.finish().isEmpty()) {
            int end = text.length();
            while (end > 0 && text.charAt(end - 1) == INCOMPLETE) {
                end--;
            }
            return Optional.of(text.substring(0, end));
        }
        if (generated.finish().get() instanceof FinishReason.Stop(var matched) && matched.isTextual() && !params.noStopTrim()) {
            int at = text.indexOf(matched.textValue());
            return Optional.of(at < 0 ? text : text.substring(0, at));
        }
        return Optional.of(text);
    }

    private String decode(int[] ids, SamplingParams params) {
        HfTokenizer known = tokenizer.orElseThrow();
        return params.skipSpecialTokens() ? known.decode(ids) : known.decodeWithSpecialTokens(ids);
    }

    private List<TokenLogprob> triples(GenerateRequest ask, Scores scores) {
        return IntStream.range(0, scores.tokens().length).mapToObj(i -> triple(ask, scores.tokens()[i], scores.logprobs()[i])).toList();
    }

    private List<Optional<List<TokenLogprob>>> lists(GenerateRequest ask, List<List<Score>> positions) {
        return positions.stream().map(scores -> scores.isEmpty() ? Optional.<List<TokenLogprob>>empty()
                : Optional.of(scores.stream().map(s -> triple(ask, s.token(), s.logprob())).toList())).toList();
    }

    private TokenLogprob triple(GenerateRequest ask, int token, float logprob) {
        return new TokenLogprob(logprob, token, ask.returnTextInLogprobs() ? tokenizer.map(t -> t.decodeWithSpecialTokens(new int[] {token})) : Optional.empty());
    }

    private static OptionalInt when(boolean there, int value) {
        return there ? OptionalInt.of(value) : OptionalInt.empty();
    }

    private static <T> Optional<T> when(boolean there, Supplier<T> value) {
        return there ? Optional.of(value.get()) : Optional.empty();
    }
}
