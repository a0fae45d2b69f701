package io.furlong.sglang;

import java.time.Duration;

/**
 * How long a sampler tries.
 *
 * @param attempt        one request, from sending to its last byte
 * @param attempts       at most so many, the first included
 * @param firstBackoff   before the second attempt after a refusal for load or a fault, ± half of it at random; doubles each time
 * @param longestBackoff it grows no further
 * @param abort          for aborted requests to return; then they are written off
 */
public record SamplerLimits(Duration attempt, int attempts, Duration firstBackoff, Duration longestBackoff, Duration abort) {
    public static final SamplerLimits DEFAULT = new SamplerLimits(Duration.ofMinutes(10), 8, Duration.ofMillis(100), Duration.ofSeconds(10), Duration.ofSeconds(5));

    public SamplerLimits withAttempts(int most) {
        return new SamplerLimits(attempt, most, firstBackoff, longestBackoff, abort);
    }

    public SamplerLimits withBackoff(Duration first, Duration longest) {
        return new SamplerLimits(attempt, attempts, first, longest, abort);
    }

    public SamplerLimits withDeadlines(Duration oneAttempt, Duration aborted) {
        return new SamplerLimits(oneAttempt, attempts, firstBackoff, longestBackoff, aborted);
    }
}
