package io.furlong.rollout;

import io.furlong.core.LedgerSnapshot;
import io.furlong.core.Outcome;
import java.util.HashMap;
import java.util.Map;

/**
 * Where every attempt of one registration is. Each change moves attempts from one place to another and publishes one immutable
 * snapshot, so the parts add up for every reader at every instant. Written under the lock of {@link Streams}; read by anyone.
 */
final class Ledger {
    /** Where an open attempt is. */
    enum Place { IN_FLIGHT, BUFFERED, TRAINING }

    private volatile LedgerSnapshot now;

    Ledger(LedgerSnapshot start) {
        now = start;
    }

    LedgerSnapshot snapshot() {
        return now;
    }

    void dispatched() {
        LedgerSnapshot l = now;
        now = new LedgerSnapshot(l.dispatched() + 1, l.inFlight() + 1, l.buffered(), l.training(), l.trained(), l.filtered(),
                l.stale(), l.retired(), l.requeued(), l.failed());
    }

    void buffered() {
        LedgerSnapshot l = now;
        now = new LedgerSnapshot(l.dispatched(), l.inFlight() - 1, l.buffered() + 1, l.training(), l.trained(), l.filtered(),
                l.stale(), l.retired(), l.requeued(), l.failed());
    }

    void collected() {
        LedgerSnapshot l = now;
        now = new LedgerSnapshot(l.dispatched(), l.inFlight(), l.buffered() - 1, l.training() + 1, l.trained(), l.filtered(),
                l.stale(), l.retired(), l.requeued(), l.failed());
    }

    void ended(Place from, long attempts, Outcome outcome) {
        now = ending(now, from, attempts, outcome);
    }

    /** The ledger as it would be if {@code attempts} of those at {@code from} ended so. */
    static LedgerSnapshot ending(LedgerSnapshot l, Place from, long attempts, Outcome outcome) {
        return new LedgerSnapshot(l.dispatched(),
                l.inFlight() - (from == Place.IN_FLIGHT ? attempts : 0),
                l.buffered() - (from == Place.BUFFERED ? attempts : 0),
                l.training() - (from == Place.TRAINING ? attempts : 0),
                l.trained() + (outcome instanceof Outcome.Trained ? attempts : 0),
                outcome instanceof Outcome.Filtered(String reason) ? plus(l.filtered(), reason, attempts) : l.filtered(),
                l.stale() + (outcome instanceof Outcome.Stale ? attempts : 0),
                l.retired() + (outcome instanceof Outcome.Retired ? attempts : 0),
                outcome instanceof Outcome.Requeued(String reason) ? plus(l.requeued(), reason, attempts) : l.requeued(),
                outcome instanceof Outcome.Failed(String reason) ? plus(l.failed(), reason, attempts) : l.failed());
    }

    private static Map<String, Long> plus(Map<String, Long> counts, String reason, long attempts) {
        Map<String, Long> more = new HashMap<>(counts);
        more.merge(reason, attempts, Long::sum);
        return Map.copyOf(more);
    }
}
