package io.furlong.control;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Events as they happen, resumable from any id: the newest from memory, older ones from the store.
 * Readers wait on a condition; a slow reader holds up nobody.
 */
public final class EventFeed {
    private static final int KEPT = 4096;

    private final Store store;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition more = lock.newCondition();
    /** Guarded by {@link #lock}: the newest events, oldest first. */
    private final ArrayDeque<ControlEvent> recent = new ArrayDeque<>();
    /** Guarded by {@link #lock}: events up to this one are no longer in {@link #recent}. */
    private long forgotten;
    private long last;

    EventFeed(Store store) {
        this.store = store;
        this.last = store.lastEventId();
        this.forgotten = last;
    }

    void publish(List<ControlEvent> events) {
        if (events.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            for (ControlEvent e : events) {
                recent.addLast(e);
                last = e.id();
                if (recent.size() > KEPT) {
                    forgotten = recent.removeFirst().id();
                }
            }
            more.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The id of the newest event. */
    public long last() {
        lock.lock();
        try {
            return last;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Events after an id, oldest first, waiting up to {@code patience} for the first of them. The answer's {@code upTo} is
     * the id to go on from: events of others are skipped by it.
     */
    public Page after(long id, Optional<String> tenant, Optional<String> adapter, int limit, Duration patience) throws InterruptedException {
        long left = patience.toNanos();
        long known;
        lock.lockInterruptibly();
        try {
            while (last <= id && left > 0) {
                left = more.awaitNanos(left);
            }
            if (id >= forgotten) {
                List<ControlEvent> page = new ArrayList<>();
                long upTo = Math.max(id, last);
                for (ControlEvent e : recent) {
                    if (e.id() > id && tenant.filter(t -> !t.equals(e.tenant())).isEmpty() && adapter.filter(a -> !a.equals(e.adapter())).isEmpty()) {
                        if (page.size() == limit) {
                            upTo = page.getLast().id();
                            break;
                        }
                        page.add(e);
                    }
                }
                return new Page(page, upTo);
            }
            known = last;
        } finally {
            lock.unlock();
        }
        List<ControlEvent> page = store.events(new Store.EventQuery(id, tenant, adapter, limit));
        return new Page(page, page.size() < limit ? Math.max(id, Math.max(known, page.isEmpty() ? 0 : page.getLast().id())) : page.getLast().id());
    }

    /** @param upTo where to go on from */
    public record Page(List<ControlEvent> events, long upTo) {}
}
