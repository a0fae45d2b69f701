package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class GapAlarmTest {
    @Test
    void soundsAfterThreeBatchesAboveTheLimitAndNotBefore() {
        GapAlarm alarm = new GapAlarm();
        for (int i = 0; i < 30; i++) {
            assertThat(alarm.after(2e-5)).isEmpty();
        }
        assertThat(alarm.after(1)).isEmpty();
        assertThat(alarm.after(1)).isEmpty();
        assertThat(alarm.after(1).orElseThrow()).contains("limit 2.00e-04").contains("3 batches");
        assertThat(alarm.after(2e-5)).isEmpty();
        assertThat(alarm.after(1)).isEmpty();
    }

    @Test
    void roundingBelowTheFloorIsNoReason() {
        GapAlarm alarm = new GapAlarm();
        for (int i = 0; i < 30; i++) {
            alarm.after(1e-7);
        }
        for (int i = 0; i < 10; i++) {
            assertThat(alarm.after(9e-5)).isEmpty();
        }
    }

    @Test
    void aGapThatIsNotANumberCounts() {
        GapAlarm alarm = new GapAlarm();
        for (int i = 0; i < 20; i++) {
            alarm.after(1e-6);
        }
        alarm.after(Double.NaN);
        alarm.after(Double.NaN);
        assertThat(alarm.after(Double.NaN)).isPresent();
    }
}
