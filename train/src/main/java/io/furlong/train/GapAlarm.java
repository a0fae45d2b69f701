package io.furlong.train;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Raises its voice when trainer and engine no longer compute the same: the gap above max(10 × median of the first 20 batches, 1e-4), three
 * batches running. Never on drift, which grows with age by design.
 */
final class GapAlarm {
    private static final int LEARNING_BATCHES = 20;
    private static final int BATCHES_RUNNING = 3;
    private static final double FLOOR = 1e-4;
    private static final double TIMES_MEDIAN = 10;

    private final List<Double> first = new ArrayList<>();
    private int running;

    /** Takes the largest gap of one batch; the message when the alarm sounds. */
    Optional<String> after(double gap) {
        if (first.size() < LEARNING_BATCHES) {
            first.add(gap);
        }
        double limit = Math.max(TIMES_MEDIAN * median(), FLOOR);
        running = gap <= limit ? 0 : running + 1;
        return running < BATCHES_RUNNING ? Optional.empty() : Optional.of(String.format(java.util.Locale.ROOT,
                "trainer and engine differ by %.2e in log-prob under the same weights (limit %.2e), %d batches running", gap, limit, running));
    }

    private double median() {
        List<Double> sorted = first.stream().sorted().toList();
        int n = sorted.size();
        return n % 2 == 1 ? sorted.get(n / 2) : (sorted.get(n / 2 - 1) + sorted.get(n / 2)) / 2;
    }
}
