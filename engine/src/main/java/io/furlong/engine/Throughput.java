package io.furlong.engine;

/** Output tokens per second over the last windows of at least a second. Owned by one thread. */
final class Throughput {
    private static final long WINDOW_NANOS = 1_000_000_000L;

    private long since = System.nanoTime();
    private long tokens;
    private double last;

    void add(int generated) {
        long now = System.nanoTime();
        tokens += generated;
        if (now - since >= WINDOW_NANOS) {
            last = tokens * 1e9 / (now - since);
            since = now;
            tokens = 0;
        }
    }

    double perSecond() {
        return last;
    }
}
