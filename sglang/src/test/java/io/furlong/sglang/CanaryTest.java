package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.sglang.Canary.Engines;
import io.furlong.sglang.Canary.Reading;
import io.furlong.sglang.Canary.Verdict;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class CanaryTest {
    private static final NoiseFloor NOISE = new NoiseFloor(0.01, 0.01);

    private static HeldVersion version(float with, float without) {
        String digest = "a".repeat(64);
        return new HeldVersion("a", new PolicyStamp(RegistrationId.random(), 2, 1, digest, "a@v2"), Path.of("/a"), new int[] {1, 2, 3},
                new float[] {with, with}, new float[] {without, without});
    }

    private static Reading reading(float prefill, float decode, float again) {
        return new Reading(new float[] {prefill, prefill}, new float[] {decode, decode}, new float[] {again, again});
    }

    @Test
    void theTrainersAnswerIsApplied() {
        assertThat(Canary.judge(version(-1, -2), reading(-1.02f, -3, -3.01f), NOISE, Engines.OTHER)).isInstanceOf(Verdict.Applied.class);
    }

    @Test
    void theBaseModelsAnswerIsRejected() {
        assertThat(Canary.judge(version(-1, -2), reading(-1.99f, -3, -3), NOISE, Engines.OTHER)).isInstanceOf(Verdict.Rejected.class);
    }

    @Test
    void anEffectBelowTheNoiseProvesNothing() {
        assertThat(Canary.judge(version(-1, -1.04f), reading(-1.04f, -3, -3), NOISE, Engines.OTHER)).isInstanceOf(Verdict.Inconclusive.class);
    }

    @Test
    void decodingThatDisagreesWithPrefillIsRejected() {
        assertThat(Canary.judge(version(-1, -2), reading(-1, -3, -4), NOISE, Engines.OTHER)).isInstanceOf(Verdict.Rejected.class);
    }

    @Test
    void nanIsNeverRight() {
        for (Engines kind : Engines.values()) {
            assertThat(Canary.judge(version(-1, -1), reading(Float.NaN, -3, -3), NOISE, kind)).isInstanceOf(Verdict.Rejected.class);
            assertThat(Canary.judge(version(-1, -2), reading(-1, Float.NaN, -3), NOISE, kind)).isInstanceOf(Verdict.Rejected.class);
        }
    }

    @Test
    void aVersionWithoutEffectMeasuresTheNoise() {
        Verdict verdict = Canary.judge(version(-1, -1), reading(-1.03f, -3, -3.02f), NoiseFloor.UNMEASURED, Engines.OTHER);
        assertThat(verdict).isInstanceOfSatisfying(Verdict.Inconclusive.class, v -> {
            assertThat(v.effect()).isEqualTo(Verdict.Effect.NONE);
            assertThat(v.seen().prefill()).isCloseTo(0.03, org.assertj.core.data.Offset.offset(1e-6));
            assertThat(v.seen().decode()).isCloseTo(0.02, org.assertj.core.data.Offset.offset(1e-6));
        });
    }

    @Test
    void anEngineWithAnotherBaseModelIsSeenAtTheFirstVersion() {
        assertThat(Canary.judge(version(-1, -1), reading(-3, -3, -3), NoiseFloor.UNMEASURED, Engines.OTHER)).isInstanceOf(Verdict.Rejected.class);
    }

    @Test
    void theEmbeddedEngineIsHeldToTenThousandths() {
        assertThat(Canary.judge(version(-1, -1), reading(-1.00005f, -3, -3), NOISE, Engines.EMBEDDED)).isInstanceOf(Verdict.Applied.class);
        assertThat(Canary.judge(version(-1, -1), reading(-1.0002f, -3, -3), NOISE, Engines.EMBEDDED)).isInstanceOf(Verdict.Rejected.class);
    }
}
