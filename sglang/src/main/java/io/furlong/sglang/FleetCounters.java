package io.furlong.sglang;

import java.util.concurrent.atomic.LongAdder;

/** What the fleet went through since its start, for metrics. */
public final class FleetCounters {
    private final LongAdder applied = new LongAdder();
    private final LongAdder inconclusive = new LongAdder();
    private final LongAdder rejected = new LongAdder();
    private final LongAdder unloads = new LongAdder();
    private final LongAdder reconciles = new LongAdder();
    private final LongAdder retries = new LongAdder();
    private final LongAdder writtenOff = new LongAdder();

    FleetCounters() {}

    /** Counts so far. */
    public record Snapshot(long canaryApplied, long canaryInconclusive, long canaryRejected, long unloads, long reconciles, long retries, long writtenOff) {}

    public Snapshot snapshot() {
        return new Snapshot(applied.sum(), inconclusive.sum(), rejected.sum(), unloads.sum(), reconciles.sum(), retries.sum(), writtenOff.sum());
    }

    void canary(Canary.Verdict verdict) {
        switch (verdict) {
            case Canary.Verdict.Applied a -> applied.increment();
            case Canary.Verdict.Inconclusive i -> inconclusive.increment();
            case Canary.Verdict.Rejected r -> rejected.increment();
        }
    }

    void canaryRejected() {
        rejected.increment();
    }

    void unloaded() {
        unloads.increment();
    }

    void reconciled() {
        reconciles.increment();
    }

    void retried() {
        retries.increment();
    }

    void wroteOff() {
        writtenOff.increment();
    }
}
