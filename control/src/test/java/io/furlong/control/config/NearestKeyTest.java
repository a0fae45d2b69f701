package io.furlong.control.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class NearestKeyTest {
    @Test
    void aSwapOfNeighboursIsOneMistake() {
        assertThat(NearestKey.distance("rnak", "rank")).isEqualTo(1);
        assertThat(NearestKey.distance("max-staleness", "max_staleness")).isZero();
        assertThat(NearestKey.distance("", "abc")).isEqualTo(3);
    }

    @Test
    void whatIsTooFarIsNotSuggested() {
        assertThat(NearestKey.to("reward", List.of("rank", "alpha"))).isEmpty();
        assertThat(NearestKey.to("ab", List.of("xy"))).isEmpty();
        assertThat(NearestKey.to("aplha", List.of("rank", "alpha"))).contains("alpha");
    }

    @Test
    void durationsReadBackAsWritten() {
        for (String text : List.of("0ms", "1ms", "500ms", "30s", "5m", "2h", "3d", "90s")) {
            assertThat(DurationText.of(DurationText.parse(text).orElseThrow())).isEqualTo(text);
        }
        assertThat(DurationText.parse("1500ms")).contains(Duration.ofMillis(1500));
        assertThat(DurationText.parse("1.5s")).isEmpty();
        assertThat(DurationText.parse("-5s")).isEmpty();
    }
}
