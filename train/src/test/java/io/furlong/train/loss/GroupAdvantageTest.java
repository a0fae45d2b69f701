package io.furlong.train.loss;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class GroupAdvantageTest {
    @Test
    void isTheDistanceFromTheMeanInUnbiasedStandardDeviations() {
        float[] advantages = GroupAdvantage.of(new double[] {1, 0, 1, 0});
        double std = Math.sqrt(4 * 0.25 / 3);
        assertThat(advantages[0]).isCloseTo((float) (0.5 / (std + 1e-6)), within(1e-6f));
        assertThat(advantages[1]).isEqualTo(-advantages[0]);
    }

    @Test
    void isExactlyZeroWhenAllRewardsAreEqual() {
        // 0.1 has no exact mean in binary: a division would leave a rest and blow it up.
        assertThat(GroupAdvantage.of(new double[] {0.1, 0.1, 0.1})).containsExactly(0f, 0f, 0f);
        assertThat(GroupAdvantage.of(new double[] {3})).containsExactly(0f);
    }
}
