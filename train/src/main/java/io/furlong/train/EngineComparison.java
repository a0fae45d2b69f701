package io.furlong.train;

import io.furlong.core.Group;
import io.furlong.core.Sample;
import io.furlong.torch.LoraWeights;
import io.furlong.train.ResponseScorer.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Compares trainer and engine: scores groups again under the weights that made each token, where those are still held, and under the base. The
 * difference to what the engine returned is the gap; it is rounding, or something is wrong. What base and maker say gives the KL, unbiased because
 * the maker sampled the tokens (where the loss has a KL term of its own, that one is reported instead).
 */
final class EngineComparison {
    private final ResponseScorer scorer;

    EngineComparison(ResponseScorer scorer) {
        this.scorer = scorer;
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

    /** Scores one group and adds what comes out to the tally; adds nothing when the weights aren't held any more. */
    void compare(Learner learner, Group group, Tally tally) {
        Map<Long, List<Sample>> byVersion = new TreeMap<>();
        for (Sample s : group.samples()) {
            if (s.trainedTokens() > 0) {
                MadeBy.of(s).stream().map(MadeBy::version).distinct().forEach(v -> byVersion.computeIfAbsent(v, _ -> new ArrayList<>()).add(s));
            }
        }
        byVersion.forEach((version, samples) ->
                learner.history().of(version).ifPresent(weights -> compare(learner, version, weights, samples, tally)));
    }

    private void compare(Learner learner, long version, LoraWeights weights, List<Sample> samples, Tally tally) {
        boolean measureKl = learner.config().loss().kl() == 0;
        List<Response> responses = new ArrayList<>(samples.stream().map(s -> new Response(s, Optional.of(weights))).toList());
        if (measureKl) {
            samples.forEach(s -> responses.add(new Response(s, Optional.empty())));
        }
        float[] scored = scorer.score(responses);
        int baseAt = scored.length / 2;
        int at = 0;
        for (Sample s : samples) {
            for (MadeBy part : MadeBy.of(s)) {
                for (int t = part.from(); t < part.to(); t++) {
                    if (s.lossMask()[t] != 0) {
                        if (part.version() == version) {
                            tally.gap(scored[at], s.logProbs()[t]);
                            if (measureKl) {
                                tally.kl(scored[at], scored[baseAt + at]);
                            }
                        }
                        at++;
                    }
                }
            }
        }
    }
}
