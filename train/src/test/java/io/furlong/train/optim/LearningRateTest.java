package io.furlong.train.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.furlong.core.ConfigException;
import io.furlong.train.optim.LearningRate.Shape;
import org.junit.jupiter.api.Test;

class LearningRateTest {
    @Test
    void warmsUpLinearlyToThePeak() {
        LearningRate rate = new LearningRate(1, Shape.CONSTANT, 4, 0, 10);
        assertThat(new double[] {rate.at(0), rate.at(1), rate.at(2), rate.at(3), rate.at(4), rate.at(9)}).containsExactly(0.25, 0.5, 0.75, 1, 1, 1);
    }

    @Test
    void fallsToZeroWhereTheAdapterEnds() {
        assertThat(new LearningRate(2, Shape.LINEAR, 0, 0, 10).at(5)).isEqualTo(1);
        assertThat(new LearningRate(2, Shape.COSINE, 0, 0, 10).at(5)).isCloseTo(1, within(1e-12));
        for (Shape shape : new Shape[] {Shape.LINEAR, Shape.COSINE}) {
            assertThat(new LearningRate(2, shape, 2, 0, 10).at(2)).isEqualTo(2);
            assertThat(new LearningRate(2, shape, 2, 0, 10).at(9)).isGreaterThan(0);
            assertThat(new LearningRate(2, shape, 2, 0, 10).at(10)).isCloseTo(0, within(1e-12));
            assertThat(new LearningRate(2, shape, 2, 0, Integer.MAX_VALUE).at(1000)).isCloseTo(2, within(1e-5));
        }
    }

    @Test
    void startsAnewWhereAnEarlierRegistrationEnded() {
        LearningRate rate = new LearningRate(1, Shape.LINEAR, 2, 50, 60);
        assertThat(rate.at(50)).isEqualTo(0.5);
        assertThat(rate.at(56)).isEqualTo(0.5);
    }

    @Test
    void anUnknownScheduleNamesTheKnownOnes() {
        assertThatThrownBy(() -> LearningRate.shape("cosinus")).isInstanceOf(ConfigException.class)
                .hasMessage("optimizer.schedule: got 'cosinus', must be constant, linear or cosine");
    }
}
