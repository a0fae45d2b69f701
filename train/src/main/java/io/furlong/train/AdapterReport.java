package io.furlong.train;

import io.furlong.core.RegistrationId;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * One adapter's part of a train call.
 *
 * @param outcome        what became of the gradient
 * @param groups         its groups in this call
 * @param zeroAdvantage  of these, groups whose rewards were all equal
 * @param samples        samples with at least one trained token
 * @param trainedTokens  response tokens in the loss
 * @param responseTokens all response tokens
 * @param rewardMean     over the samples of this call; NaN when there are none
 * @param rewardStd      unbiased; 0 for fewer than two samples
 * @param entropy        mean −log p of the sampled tokens, an estimate of the policy's entropy; NaN when nothing was computed
 * @param kl             mean k3 estimate of KL(policy ‖ base) over the tokens it was computed for; NaN when none
 * @param gap            trainer against engine under the same weights; empty when nothing could be compared
 * @param gapByEngine    the same by the engine that answered, or by the router that stood before it
 * @param ages           figures by age, youngest first
 * @param alarm          one line when the gap has been too large for three batches running
 */
public record AdapterReport(String adapter, RegistrationId registration, StepOutcome outcome, int groups, int zeroAdvantage, int samples,
                            long trainedTokens, long responseTokens, double rewardMean, double rewardStd, double entropy, double kl,
                            Optional<Gap> gap, SortedMap<String, Gap> gapByEngine, List<AgeFigures> ages, Optional<String> alarm) {
    public AdapterReport {
        gapByEngine = Collections.unmodifiableSortedMap(new TreeMap<>(gapByEngine));
        ages = List.copyOf(ages);
    }

    /**
     * |trainer − engine| log-prob of the same tokens under the weights that made them.
     *
     * @param kl           mean k3 estimate of KL(engine ‖ trainer), natural log
     * @param outsideShare share of tokens whose ratio of probabilities, trainer to engine, is outside [0.9, 1.1]
     * @param tokens       compared
     */
    public record Gap(double max, double mean, double kl, double outsideShare, long tokens) {
        private void into(Map<String, Double> metrics, String prefix, String label) {
            metrics.put(prefix + "logprob_gap_max" + label, max);
            metrics.put(prefix + "logprob_gap_mean" + label, mean);
            metrics.put(prefix + "logprob_gap_kl_nats" + label, kl);
            metrics.put(prefix + "logprob_gap_outside_share" + label, outsideShare);
        }
    }

    /**
     * Tokens of one age against the present weights.
     *
     * @param age          in optimizer steps
     * @param tokens       computed; groups with zero advantage are left out when they need no gradient
     * @param meanRatio    of policy to sampling policy
     * @param clippedShare share of tokens whose gradient the clip cut off
     * @param meanDrift    mean |policy − sampling log-prob|
     * @param maxDrift     the largest
     */
    public record AgeFigures(long age, long tokens, double meanRatio, double clippedShare, double meanDrift, double maxDrift) {}

    /** The oldest age in this call; 0 when nothing was computed. */
    public long maxAge() {
        return ages.isEmpty() ? 0 : ages.getLast().age();
    }

    /**
     * Everything as figures for a metric sink, units in the names; figures that don't exist are left out. Those of one engine carry it as a
     * label: {@code engine_logprob_gap_max{engine=http://…}}.
     */
    public Map<String, Double> metrics() {
        Map<String, Double> m = new LinkedHashMap<>();
        m.put("groups", (double) groups);
        m.put("zero_advantage_groups", (double) zeroAdvantage);
        m.put("samples", (double) samples);
        m.put("trained_tokens", (double) trainedTokens);
        put(m, "reward_mean", rewardMean);
        put(m, "reward_std", rewardStd);
        put(m, "response_tokens_mean", samples == 0 ? Double.NaN : (double) responseTokens / samples);
        put(m, "entropy_nats", entropy);
        put(m, "kl_nats", kl);
        gap.ifPresent(g -> {
            g.into(m, "", "");
            m.put("logprob_gap_alarm", alarm.isPresent() ? 1.0 : 0.0);
        });
        gapByEngine.forEach((engine, g) -> g.into(m, "engine_", "{engine=" + engine + "}"));
        for (AgeFigures a : ages) {
            m.put("ratio_mean_age" + a.age(), a.meanRatio());
            m.put("clipped_share_age" + a.age(), a.clippedShare());
            m.put("logprob_drift_mean_age" + a.age(), a.meanDrift());
            m.put("logprob_drift_max_age" + a.age(), a.maxDrift());
        }
        switch (outcome) {
            case StepOutcome.Accumulated _ -> { }
            case StepOutcome.Stepped s -> {
                m.put("loss", s.loss());
                m.put("grad_norm", s.gradNorm());
                m.put("lr", s.lr());
            }
            case StepOutcome.Vetoed v -> m.put("vetoes_in_a_row", (double) v.inARow());
        }
        return m;
    }

    private static void put(Map<String, Double> m, String key, double value) {
        if (Double.isFinite(value)) {
            m.put(key, value);
        }
    }
}
