package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.train.AdapterReport.Gap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
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

    @Test
    void eachEngineHasAnAlarmOfItsOwnThatCountsTheBatchesItTookPartIn() {
        GapAlarms alarms = new GapAlarms();
        for (int i = 0; i < 20; i++) {
            assertThat(alarms.after(gaps("well", 2e-5, "off", 2e-5))).isEmpty();
        }
        assertThat(alarms.after(gaps("well", 2e-5, "off", 1))).isEmpty();
        assertThat(alarms.after(gaps("well", 2e-5, "off", 1))).isEmpty();
        assertThat(alarms.after(gaps("well", 2e-5, "third", 1))).as("the one that is off took no part").isEmpty();
        assertThat(alarms.after(gaps("well", 2e-5, "off", 1)).orElseThrow()).startsWith("off: ").doesNotContain("well", "third");
    }

    private static SortedMap<String, Gap> gaps(String one, double gap, String other, double otherGap) {
        return new TreeMap<>(Map.of(one, new Gap(gap, gap, 0, 0, 1), other, new Gap(otherGap, otherGap, 0, 0, 1)));
    }
}
