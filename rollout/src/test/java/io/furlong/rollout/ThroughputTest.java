package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.rollout.RolloutLimits.Schedule;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What dispatcher, streams and collector cost a group when engine, reward and trainer cost nothing. The registry in memory copies
 * all adapters on every change, twice a step, which is part of the figure for a thousand.
 */
@Tag("slow")
class ThroughputTest {
    private static final int GROUPS = 100_000;

    @Test
    void groupsPerSecondWithOneAdapterAndWithAThousand() throws Exception {
        groupsPerSecond(1);
        double one = groupsPerSecond(1);
        double thousand = groupsPerSecond(1000);
        System.out.printf("groups/s: 1 adapter %.0f, 1,000 adapters %.0f%n", one, thousand);
        assertThat(one).isGreaterThan(20_000);
        assertThat(thousand).isGreaterThan(10_000);
    }

    private static double groupsPerSecond(int adapters) throws Exception {
        RolloutLimits limits = new RolloutLimits(64, Duration.ofMillis(20), Duration.ofSeconds(20), 512, 1, 3, 4, Duration.ofSeconds(10),
                Schedule.ASYNCHRONOUS);
        try (RolloutFixture f = new RolloutFixture((r, n) -> "1", limits, 1000)) {
            f.sampler.record = false;
            for (int i = 0; i < adapters; i++) {
                f.registry.activate("a" + i, Configs.basic().shape(16, 1).build());
            }
            int groups = 0;
            long start = 0;
            while (groups < GROUPS * 1.2) {
                if (start == 0 && groups > GROUPS * 0.2) {
                    start = System.nanoTime();
                    groups = (int) (GROUPS * 0.2);
                }
                groups += f.trainOnce().groups().size();
            }
            return GROUPS / ((System.nanoTime() - start) / 1e9);
        }
    }
}
