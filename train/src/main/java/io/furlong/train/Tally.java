package io.furlong.train;

import io.furlong.core.Group;
import io.furlong.core.Sample;
import io.furlong.train.AdapterReport.AgeFigures;
import io.furlong.train.AdapterReport.Gap;
import io.furlong.train.loss.KlToBase;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Figures of one adapter over one train call, gathered token by token. Lives within the call. */
final class Tally {
    private final Learner learner;
    private final List<Double> rewards = new ArrayList<>();
    private final SortedMap<Long, Age> ages = new TreeMap<>();
    private int groups;
    private int zeroAdvantage;
    private int samples;
    private long trainedTokens;
    private long responseTokens;
    private long computedTokens;
    private double logProbSum;
    private long klTokens;
    private double klSum;
    private final GapTally gap = new GapTally();
    private final SortedMap<String, GapTally> gapByEngine = new TreeMap<>();

    private static final class Age {
        private long tokens;
        private double ratioSum;
        private long clipped;
        private double driftSum;
        private double driftMax;
    }

    Tally(Learner learner) {
        this.learner = learner;
    }

    void add(Group group) {
        groups++;
        zeroAdvantage += group.zeroVariance() ? 1 : 0;
        for (Sample s : group.samples()) {
            int tokens = s.trainedTokens();
            rewards.add(s.reward());
            samples += tokens > 0 ? 1 : 0;
            trainedTokens += tokens;
            responseTokens += s.responseIds().length;
        }
    }

    /** One trained token under the present weights. */
    void token(TrainingRow row, double logProb, double oldLogProb) {
        Age age = ages.computeIfAbsent(row.age(), _ -> new Age());
        double ratio = Math.exp(logProb - oldLogProb);
        double drift = Math.abs(logProb - oldLogProb);
        age.tokens++;
        age.ratioSum += ratio;
        age.clipped += learner.loss().clipped(ratio, row.advantage()) ? 1 : 0;
        age.driftSum += drift;
        age.driftMax = Math.max(age.driftMax, drift);
        computedTokens++;
        logProbSum += logProb;
    }

    /** One token under the weights that made it, and the engine that did. */
    void gap(String engine, double logProb, double oldLogProb) {
        gap.add(logProb, oldLogProb);
        gapByEngine.computeIfAbsent(engine, _ -> new GapTally()).add(logProb, oldLogProb);
    }

    /** One token under policy and base. */
    void kl(double logProb, double baseLogProb) {
        klTokens++;
        klSum += KlToBase.of(logProb, baseLogProb);
    }

    AdapterReport report(StepOutcome outcome) {
        SortedMap<String, Gap> byEngine = new TreeMap<>();
        gapByEngine.forEach((engine, own) -> own.figures().ifPresent(g -> byEngine.put(engine, g)));
        return new AdapterReport(learner.name(), learner.registration(), outcome, groups, zeroAdvantage, samples, trainedTokens, responseTokens,
                rewardMean(), rewardStd(), -logProbSum / computedTokens, klSum / klTokens, gap.figures(), byEngine,
                ages.entrySet().stream().map(e -> figures(e.getKey(), e.getValue())).toList(), learner.alarms().after(byEngine));
    }

    private static AgeFigures figures(long age, Age a) {
        return new AgeFigures(age, a.tokens, a.ratioSum / a.tokens, (double) a.clipped / a.tokens, a.driftSum / a.tokens, a.driftMax);
    }

    private double rewardMean() {
        return rewards.stream().mapToDouble(r -> r).average().orElse(Double.NaN);
    }

    private double rewardStd() {
        double mean = rewardMean();
        return rewards.size() < 2 ? 0 : Math.sqrt(rewards.stream().mapToDouble(r -> (r - mean) * (r - mean)).sum() / (rewards.size() - 1));
    }
}
