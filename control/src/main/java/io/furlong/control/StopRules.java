package io.furlong.control;

import io.furlong.core.StopRule;
import java.time.Instant;
import java.util.Optional;

/** When a registration is done: the rules of {@link StopRule} against its progress. Pure. */
final class StopRules {
    private StopRules() {}

    /** The step at which it ends once the rows are known, counted from its start. */
    static long targetStep(Registration r, long rows) {
        StopRule stop = r.config().stop();
        if (stop.numStep().isPresent() || stop.numEpoch().isEmpty() && endsOtherwise(stop)) {
            return r.progress().targetStep();
        }
        long steps = stop.steps(rows, r.config().rolloutBatchSize());
        return r.progress().begun() ? r.progress().startStep() + steps : steps;
    }

    /** The target before the rows are known. */
    static long firstTarget(StopRule stop) {
        return stop.numStep().isPresent() ? stop.numStep().getAsInt() : Integer.MAX_VALUE;
    }

    /** Why it is done, if it is. */
    static Optional<String> reached(Registration r, Instant now) {
        Progress p = r.progress();
        StopRule stop = r.config().stop();
        if (p.step() >= p.targetStep()) {
            return Optional.of("step " + p.step() + " of " + p.targetStep());
        }
        if (stop.numStep().isEmpty() && stop.numEpoch().isPresent() && p.rows() > 0
                && p.finishedRows() >= p.rows() * stop.numEpoch().getAsInt()) {
            return Optional.of(p.finishedRows() + " rows finished in " + stop.numEpoch().getAsInt() + " epochs");
        }
        if (stop.rewardTarget().isPresent() && p.targetHeld() >= stop.targetEvals()) {
            return Optional.of("reward target " + stop.rewardTarget().getAsDouble() + " held for " + p.targetHeld() + " evaluations");
        }
        if (stop.tokenBudget().isPresent() && p.generatedTokens() >= stop.tokenBudget().getAsLong()) {
            return Optional.of(p.generatedTokens() + " tokens generated of " + stop.tokenBudget().getAsLong());
        }
        return wallClockEnd(r).filter(end -> !now.isBefore(end)).map(end -> "wall-clock limit " + stop.wallClock().orElseThrow() + " reached");
    }

    /** When its wall-clock limit is up. */
    static Optional<Instant> wallClockEnd(Registration r) {
        return r.activatedAt().flatMap(at -> r.config().stop().wallClock().map(at::plus));
    }

    private static boolean endsOtherwise(StopRule stop) {
        return stop.rewardTarget().isPresent() || stop.wallClock().isPresent() || stop.tokenBudget().isPresent();
    }
}
