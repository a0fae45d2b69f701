package io.furlong.train;

import io.furlong.core.Group;
import io.furlong.core.Sample;
import io.furlong.torch.LoraWeights;
import io.furlong.train.ResponseScorer.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * Compares trainer and engine: scores groups again under the weights that made each token, where those are still held, and under the base. The
 * difference to what the engine returned is the gap; it is rounding, or something is wrong. What base and maker say gives the KL, unbiased because
 * the maker sampled the tokens (where the loss has a KL term of its own, that one is reported instead).
 */
final class EngineComparison {
    private final ResponseScorer scorer;
    private final int tokensAtOnce;

    EngineComparison(ResponseScorer scorer, int tokensAtOnce) {
        this.scorer = scorer;
        this.tokensAtOnce = tokensAtOnce;
    }

    /** Output tokens {@code from} to {@code to} of a sample, made by one version. */
    record MadeBy(int from, int to, long version) {
        /** Parts of a sample by the version that made them; one part unless weights were replaced under the running sequence. */
        static List<MadeBy> of(Sample s) {
            if (s.spans().isEmpty()) {
                return List.of(new MadeBy(0, s.responseIds().length, s.stamp().version()));
            }
            List<MadeBy> all = new ArrayList<>();
            for (int i = 0; i < s.spans().size(); i++) {
                int to = i + 1 < s.spans().size() ? s.spans().get(i + 1).fromToken() : s.responseIds().length;
                all.add(new MadeBy(s.spans().get(i).fromToken(), to, s.spans().get(i).version()));
            }
            return all;
        }
    }

    /** A group whose scores go to a tally. */
    record Ask(Learner learner, Group group, Tally tally) {
        boolean measuresKl() {
            return learner.config().loss().kl() == 0;
        }
    }

    /** A sample to be scored under one of the versions that made it. */
    private record Scored(Ask ask, Sample sample, long version, LoraWeights weights) {}

    /** Scores groups, of all adapters together, and adds what comes out to their tallies; leaves out what was made by weights that aren't held any more. */
    void compare(List<Ask> asks) {
        List<Scored> all = asks.stream().flatMap(EngineComparison::scored).toList();
        List<Scored> withKl = all.stream().filter(s -> s.ask().measuresKl()).toList();
        List<Response> responses = new ArrayList<>();
        all.forEach(s -> responses.add(new Response(s.sample(), Optional.of(s.weights()))));
        withKl.forEach(s -> responses.add(new Response(s.sample(), Optional.empty())));
        float[] logProbs = score(responses);
        int at = 0;
        int baseAt = all.stream().mapToInt(s -> s.sample().trainedTokens()).sum();
        for (Scored s : all) {
            boolean kl = s.ask().measuresKl();
            add(s, logProbs, at, kl ? OptionalInt.of(baseAt) : OptionalInt.empty());
            at += s.sample().trainedTokens();
            baseAt += kl ? s.sample().trainedTokens() : 0;
        }
    }

    private static Stream<Scored> scored(Ask ask) {
        return ask.group().samples().stream().filter(s -> s.trainedTokens() > 0).flatMap(sample -> MadeBy.of(sample).stream().map(MadeBy::version).distinct()
                .flatMap(version -> ask.learner().history().of(version).stream().map(weights -> new Scored(ask, sample, version, weights))));
    }

    private float[] score(List<Response> responses) {
        float[] all = new float[responses.stream().mapToInt(r -> r.sample().trainedTokens()).sum()];
        int at = 0;
        for (int from = 0; from < responses.size();) {
            int to = from;
            int tokens = 0;
            while (to < responses.size() && (to == from || tokens + ResponseScorer.contextLength(responses.get(to).sample()) <= tokensAtOnce)) {
                tokens += ResponseScorer.contextLength(responses.get(to++).sample());
            }
            float[] some = scorer.score(responses.subList(from, to));
            System.arraycopy(some, 0, all, at, some.length);
            at += some.length;
            from = to;
        }
        return all;
    }

    /** @param at     where the sample's log-probs begin
     *  @param baseAt where those under the base do, if they were wanted */
    private static void add(Scored scored, float[] logProbs, int at, OptionalInt baseAt) {
        Sample s = scored.sample();
        int i = 0;
        for (MadeBy part : MadeBy.of(s)) {
            for (int t = part.from(); t < part.to(); t++) {
                if (s.lossMask()[t] == 0) {
                    continue;
                }
                if (part.version() == scored.version()) {
                    scored.ask().tally().gap(s.engine(), logProbs[at + i], s.logProbs()[t]);
                    if (baseAt.isPresent()) {
                        scored.ask().tally().kl(logProbs[at + i], logProbs[baseAt.getAsInt() + i]);
                    }
                }
                i++;
            }
        }
    }
}
