package io.furlong.rollout;

import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;

/**
 * How many requests may be in flight on all engines together; the limit follows the number of engines. A group reserves its
 * first turn when it is admitted; everything else (later turns, evaluations) waits in order of arrival, and while anybody waits
 * no group is admitted, so nobody starves. Guarded by the lock it is given.
 */
final class RequestLimit {
    private final ReentrantLock lock;
    private final IntSupplier limit;
    private final Runnable freed;
    private final ArrayDeque<Condition> waiting = new ArrayDeque<>();
    private int inFlight;

    /** @param freed called under the lock whenever a group might fit again */
    RequestLimit(ReentrantLock lock, IntSupplier limit, Runnable freed) {
        this.lock = lock;
        this.limit = limit;
        this.freed = freed;
    }

    private int limit() {
        return Math.max(1, limit.getAsInt());
    }

    /**
     * Reserves places for a group of {@code n} requests.
     *
     * @return places reserved; fewer than {@code n} only if {@code n} is above the limit itself, 0 when the group has to wait
     */
    int reserve(int n) {
        int most = Math.min(n, limit());
        if (!waiting.isEmpty() || inFlight + most > limit()) {
            return 0;
        }
        inFlight += most;
        return most;
    }

    /** Waits for one place. */
    void acquire() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            if (waiting.isEmpty() && inFlight < limit()) {
                inFlight++;
                return;
            }
            Condition mine = lock.newCondition();
            waiting.addLast(mine);
            try {
                while (waiting.peekFirst() != mine || inFlight >= limit()) {
                    mine.await();
                }
                inFlight++;
            } finally {
                waiting.remove(mine);
                wake();
            }
        } finally {
            lock.unlock();
        }
    }

    void release(int places) {
        if (places == 0) {
            return;
        }
        lock.lock();
        try {
            inFlight -= places;
            wake();
        } finally {
            lock.unlock();
        }
    }

    /** The limit may have grown, or places have come free. */
    void wake() {
        Condition first = waiting.peekFirst();
        if (first != null) {
            first.signal();
        } else {
            freed.run();
        }
    }

    int inFlight() {
        return inFlight;
    }
}
