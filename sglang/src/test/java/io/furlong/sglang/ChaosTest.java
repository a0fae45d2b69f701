package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.sglang.testing.Chaos;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChaosTest {
    private static final int ADAPTERS = 12;

    @TempDir
    Path root;

    @Test
    void twentySecondsOfFaultsLoseNothingAndMixNothing() throws Exception {
        check(Chaos.run(root, 8, ADAPTERS, Duration.ofSeconds(20), 1));
    }

    @Test
    @Tag("slow")
    void aMinuteOfFaultsLosesNothingAndMixesNothing() throws Exception {
        check(Chaos.run(root, 8, ADAPTERS, Duration.ofSeconds(60), 2));
    }

    private static void check(Chaos.Report report) {
        assertThat(report.faults()).isGreaterThan(10);
        assertThat(report.tenants()).hasSize(ADAPTERS).allSatisfy(t -> {
            assertThat(t.dispatched()).as("every attempt of %s is accounted for", t).isEqualTo(t.trained() + t.lost().values().stream().mapToInt(Integer::intValue).sum());
            assertThat(t.wrong()).as("samples of %s made by other weights than their stamp says", t).isZero();
        });
        assertThat(report.tenants().getFirst().failed()).contains("rejected by every engine that tried it");
        assertThat(report.tenants().subList(1, ADAPTERS)).allSatisfy(t -> {
            assertThat(t.failed()).isEmpty();
            assertThat(t.late()).as("%s went on training in the second half", t).isPositive();
        });
        assertThat(report.engines()).noneSatisfy(e -> assertThat(e.reason()).contains("t0."));
        assertThat(report.mostLoadedAboveTainted()).isLessThanOrEqualTo(Chaos.mostAllowed(ADAPTERS));
        assertThat(report.connectionsLeft()).isZero();
    }
}
