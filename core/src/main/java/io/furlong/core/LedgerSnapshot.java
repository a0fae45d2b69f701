package io.furlong.core;

import java.util.Map;
import java.util.TreeMap;

/**
 * Where every attempt of one registration is, at one instant. The parts add up to {@link #dispatched()} by construction of
 * whoever owns the ledger, and are checked here, so that a snapshot which doesn't add up can't exist.
 *
 * @param inFlight generating, being scored or filtered
 * @param buffered finished, waiting for collection
 * @param training collected or accumulated, not yet stepped
 * @param filtered by reason
 * @param requeued by reason
 * @param failed   by reason
 */
public record LedgerSnapshot(long dispatched, long inFlight, long buffered, long training, long trained, Map<String, Long> filtered,
                             long stale, long retired, Map<String, Long> requeued, Map<String, Long> failed) {
    public static final LedgerSnapshot EMPTY = new LedgerSnapshot(0, 0, 0, 0, 0, Map.of(), 0, 0, Map.of(), Map.of());

    public LedgerSnapshot {
        filtered = Map.copyOf(filtered);
        requeued = Map.copyOf(requeued);
        failed = Map.copyOf(failed);
        long sum = inFlight + buffered + training + trained + sum(filtered) + stale + retired + sum(requeued) + sum(failed);
        if (sum != dispatched || inFlight < 0 || buffered < 0 || training < 0) {
            throw new IllegalArgumentException("ledger doesn't add up: dispatched " + dispatched + ", parts " + sum
                    + " (in flight " + inFlight + ", buffered " + buffered + ", training " + training + ", trained " + trained + ")");
        }
    }

    private static long sum(Map<String, Long> m) {
        return m.values().stream().mapToLong(Long::longValue).sum();
    }

    public long filteredTotal() {
        return sum(filtered);
    }

    public long requeuedTotal() {
        return sum(requeued);
    }

    public long failedTotal() {
        return sum(failed);
    }

    /** Attempts that have not ended. */
    public long open() {
        return inFlight + buffered + training;
    }

    /** After a crash: attempts that were open in the last committed ledger become REQUEUED(crash). */
    public LedgerSnapshot afterCrash() {
        return closeOpen("crash");
    }

    /** Books every open attempt as REQUEUED with a reason. */
    public LedgerSnapshot closeOpen(String reason) {
        if (open() == 0) {
            return this;
        }
        Map<String, Long> r = new TreeMap<>(requeued);
        r.merge(reason, open(), Long::sum);
        return new LedgerSnapshot(dispatched, 0, 0, 0, trained, filtered, stale, retired, r, failed);
    }
}
