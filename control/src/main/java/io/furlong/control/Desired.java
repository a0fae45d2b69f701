package io.furlong.control;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What someone asked of a running adapter and has not taken effect yet. The learning rate and the number of steps take
 * effect with the next committed step, in its transaction; a rollback when the loop commits the restored weights.
 *
 * @param lr       peak learning rate
 * @param numStep  optimizer steps from start or resume
 * @param rollback the committed version to go back to
 */
public record Desired(OptionalDouble lr, OptionalInt numStep, OptionalLong rollback) {
    public static final Desired NOTHING = new Desired(OptionalDouble.empty(), OptionalInt.empty(), OptionalLong.empty());

    public boolean isNothing() {
        return equals(NOTHING);
    }

    /** The same with a rollback asked for. */
    public Desired withRollback(long version) {
        return new Desired(lr, numStep, OptionalLong.of(version));
    }

    /** The change that someone sends: absent means as it is. */
    public record Patch(OptionalDouble lr, OptionalInt numStep, OptionalDouble weight, OptionalInt maxStaleness,
                        Optional<Run> run) {
        /** Whether new groups are to be admitted. */
        public enum Run { PAUSED, RUNNING }

        public static final Patch NOTHING =
                new Patch(OptionalDouble.empty(), OptionalInt.empty(), OptionalDouble.empty(), OptionalInt.empty(), Optional.empty());

        public static Patch run(Run run) {
            return new Patch(OptionalDouble.empty(), OptionalInt.empty(), OptionalDouble.empty(), OptionalInt.empty(), Optional.of(run));
        }

        public static Patch lr(double lr) {
            return new Patch(OptionalDouble.of(lr), OptionalInt.empty(), OptionalDouble.empty(), OptionalInt.empty(), Optional.empty());
        }

        public static Patch numStep(int steps) {
            return new Patch(OptionalDouble.empty(), OptionalInt.of(steps), OptionalDouble.empty(), OptionalInt.empty(), Optional.empty());
        }
    }
}
