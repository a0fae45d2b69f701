package io.furlong.sglang;

import java.time.Duration;
import java.time.Instant;

/**
 * Keeps requests away from an engine that keeps failing. Closed until {@code threshold} failures in a row; then open for a time that
 * doubles with every opening up to a bound; then half open, where a single failure opens it again and a success closes it.
 * Not thread-safe: its owner's lock guards it. Time comes in from outside.
 */
final class CircuitBreaker {
    private final int threshold;
    private final Duration shortest;
    private final Duration longest;
    private int failures;
    private int openings;
    private Instant retryAt = Instant.MIN;

    CircuitBreaker(int threshold, Duration shortest, Duration longest) {
        this.threshold = threshold;
        this.shortest = shortest;
        this.longest = longest;
    }

    void succeeded() {
        failures = 0;
        openings = 0;
        retryAt = Instant.MIN;
    }

    /** @return whether this failure opened it */
    boolean failed(Instant now) {
        failures++;
        boolean trial = openings > 0 && !now.isBefore(retryAt);
        if (trial || failures == threshold) {
            open(now);
            return true;
        }
        return false;
    }

    /** Opens it whatever came before: the connection was refused, say. */
    void open(Instant now) {
        Duration pause = shortest.multipliedBy(1L << Math.min(openings, 20));
        openings++;
        retryAt = now.plus(pause.compareTo(longest) < 0 ? pause : longest);
    }

    /** Whether a request, or a trial, may go out now. */
    boolean permits(Instant now) {
        return !now.isBefore(retryAt);
    }

    /** When it may be tried again; the distant past while closed. */
    Instant retryAt() {
        return retryAt;
    }
}
