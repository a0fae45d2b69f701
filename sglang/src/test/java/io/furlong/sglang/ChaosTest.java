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
        assertThat(report.tenants()).hasSize(ADAPTERS);
        assertThat(report.unaccounted()).as("attempts that are not accounted for, of %s", report.tenants()).isZero();
        assertThat(report.wrong()).as("samples made by other weights than their stamp says, of %s", report.tenants()).isZero();
        assertThat(report.stopped()).as("good adapters that failed or did not go on training in the second half, of %s", report.tenants()).isZero();
        assertThat(report.tenants().getFirst().failed()).contains("rejected by every engine that tried it");
        assertThat(report.lostToBadAdapter()).as("engines that left for the bad adapter, of %s", report.engines()).isZero();
        assertThat(report.mostLoadedAboveTainted()).isLessThanOrEqualTo(Chaos.mostAllowed(ADAPTERS));
        assertThat(report.connectionsLeft()).isZero();
        assertThat(report.threadsLeft()).isEmpty();
    }
}
