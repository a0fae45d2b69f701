package io.furlong.rollout;

import io.furlong.core.Prompt;
import io.furlong.core.RewardConfig;
import io.furlong.core.RewardFunction;
import io.furlong.core.Sample;
import java.time.Duration;
import java.util.Optional;

/** Rewards as users might write them. */
public final class OwnRewards {
    private OwnRewards() {}

    static RewardConfig config(String name, Duration timeout) {
        return new RewardConfig(Optional.empty(), Optional.of(OwnRewards.class.getName() + "$" + name), timeout);
    }

    /** Always throws. */
    public static final class Throwing implements RewardFunction {
        @Override
        public String name() {
            return "throwing";
        }

        @Override
        public double score(Prompt prompt, Sample sample) {
            throw new IllegalStateException("the judge is out");
        }
    }

    /** Always NaN. */
    public static final class NotANumber implements RewardFunction {
        @Override
        public String name() {
            return "not_a_number";
        }

        @Override
        public double score(Prompt prompt, Sample sample) {
            return Double.NaN;
        }
    }

    /** Never returns, whatever it is told, until the test is over. */
    public static final class Endless implements RewardFunction {
        static volatile boolean over;

        @Override
        public String name() {
            return "endless";
        }

        @Override
        public double score(Prompt prompt, Sample sample) {
            while (!over) {
                Thread.onSpinWait();
            }
            return 0;
        }
    }

    /** Throws for every fifth row. */
    public static final class Flaky implements RewardFunction {
        @Override
        public String name() {
            return "flaky";
        }

        @Override
        public double score(Prompt prompt, Sample sample) {
            if (prompt.row() % 5 == 0) {
                throw new IllegalStateException("can't judge row " + prompt.row());
            }
            return sample.index() % 2;
        }
    }
}
