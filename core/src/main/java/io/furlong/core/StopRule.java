package io.furlong.core;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * When an adapter is done; the first rule met ends it.
 *
 * @param numStep      optimizer steps from start or resume
 * @param numEpoch     passes over the dataset; used when {@code numStep} is absent
 * @param rewardTarget mean evaluation accuracy that has to be held for {@code targetEvals} evaluations running
 * @param wallClock    limit since activation
 * @param tokenBudget  generated tokens
 */
public record StopRule(OptionalInt numStep, OptionalInt numEpoch, OptionalDouble rewardTarget, int targetEvals,
                       Optional<Duration> wallClock, OptionalLong tokenBudget) {
    public StopRule {
        numStep.ifPresent(n -> Check.field("num_step", n, n >= 1, "≥ 1"));
        numEpoch.ifPresent(n -> Check.field("num_epoch", n, n >= 1, "≥ 1"));
        Check.field("stop.target_evals", targetEvals, targetEvals >= 1, "≥ 1");
        tokenBudget.ifPresent(n -> Check.field("stop.token_budget", n, n >= 1, "≥ 1"));
    }

    public static StopRule steps(int n) {
        return new StopRule(OptionalInt.of(n), OptionalInt.empty(), OptionalDouble.empty(), 1, Optional.empty(), OptionalLong.empty());
    }

    /** Optimizer steps for a dataset of {@code rows} rows after filtering: num_step, else num_epoch · rows / batch, at least 1. */
    public int steps(long rows, int rolloutBatchSize) {
        if (numStep.isPresent()) {
            return numStep.getAsInt();
        }
        long steps = (long) numEpoch.orElse(1) * rows / rolloutBatchSize;
        return Math.clamp(steps, 1, Integer.MAX_VALUE);
    }

    public StopRule withNumStep(int n) {
        return new StopRule(OptionalInt.of(n), numEpoch, rewardTarget, targetEvals, wallClock, tokenBudget);
    }
}
