package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class CircuitBreakerTest {
    private static final Instant T0 = Instant.EPOCH;

    private final CircuitBreaker breaker = new CircuitBreaker(3, Duration.ofSeconds(1), Duration.ofSeconds(4));

    @Test
    void onlyFailuresInARowOpenIt() {
        assertThat(breaker.failed(T0)).isFalse();
        assertThat(breaker.failed(T0)).isFalse();
        breaker.succeeded();
        assertThat(breaker.failed(T0)).isFalse();
        assertThat(breaker.failed(T0)).isFalse();
        assertThat(breaker.failed(T0)).isTrue();
        assertThat(breaker.permits(T0)).isFalse();
        assertThat(breaker.permits(T0.plusSeconds(1))).isTrue();
    }

    @Test
    void halfOpenOneFailureIsEnoughAndThePauseDoublesUpToItsBound() {
        breaker.open(T0);
        Instant at = T0;
        for (int pause : new int[] {1, 2, 4, 4}) {
            assertThat(breaker.retryAt()).isEqualTo(at.plusSeconds(pause));
            at = at.plusSeconds(pause);
            assertThat(breaker.failed(at)).isTrue();
        }
    }

    @Test
    void aSuccessForgetsEverything() {
        breaker.open(T0);
        breaker.open(T0);
        breaker.succeeded();
        assertThat(breaker.permits(T0)).isTrue();
        assertThat(breaker.failed(T0)).isFalse();
    }
}
