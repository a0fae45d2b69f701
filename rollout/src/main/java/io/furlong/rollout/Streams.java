package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * All registrations that have something open, and the one lock that guards them, the dispatcher, the collector, the pins and the
 * request limit. Every method here is called with the lock held and does no I/O, so the lock is only ever held for microseconds.
 *
 * <p>A stream appears when its registration is first seen ACTIVE or PAUSED, is told of every newer view, and disappears when its
 * registration has ended and all its attempts have.
 */
final class Streams {
    private static final int ENDED_KEPT = 1024;

    final ReentrantLock lock = new ReentrantLock();
    /** Signalled when a group might be admitted. */
    final Condition admissible = lock.newCondition();
    /** Signalled when a batch might be complete. */
    final Condition collectable = lock.newCondition();
    /** Signalled when an attempt has ended. */
    final Condition ended = lock.newCondition();

    private final Map<RegistrationId, AdapterStream> byRegistration = new LinkedHashMap<>();
    private final Map<RegistrationId, LedgerSnapshot> finalLedgers = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<RegistrationId, LedgerSnapshot> eldest) {
            return size() > ENDED_KEPT;
        }
    };
    private final List<Consumer<AdapterStream>> watchers = new ArrayList<>();
    private final Function<Adapter, AdapterStream> opener;
    private final Pins pins;
    private RegistrySnapshot seen = RegistrySnapshot.EMPTY;
    private boolean closed;

    /** @param opener makes the stream of a registration seen for the first time; must not block */
    Streams(Function<Adapter, AdapterStream> opener, Pins pins) {
        this.opener = opener;
        this.pins = pins;
    }

    /** {@code watcher} is told of every stream that has changed, under the lock. */
    void watch(Consumer<AdapterStream> watcher) {
        watchers.add(watcher);
    }

    /** Takes over a newer snapshot; looks only at what differs from the one before. */
    void apply(RegistrySnapshot snapshot) {
        if (snapshot == seen || snapshot.epoch() < seen.epoch()) {
            return;
        }
        RegistrySnapshot before = seen;
        seen = snapshot;
        for (Adapter a : snapshot.changedSince(before)) {
            AdapterStream stream = byRegistration.get(a.registration());
            if (stream == null && !closed && a.state().sampleable()) {
                a.inForce().ifPresent(pins::inForce);
                stream = opener.apply(a);
                byRegistration.put(a.registration(), stream);
                stream.start();
            } else if (stream != null && a.state().sampleable()) {
                a.inForce().ifPresent(pins::inForce);
                stream.seen(a);
            } else if (stream != null && a.draining()) {
                a.inForce().ifPresent(pins::inForce);
                stream.drain(a);
            } else if (stream != null && (a.state() == AdapterState.RETIRING || a.state() == AdapterState.CLEANUP || a.state().terminal())) {
                stream.retire();
            }
        }
        for (Adapter old : snapshot.goneSince(before)) {
            find(old.registration()).ifPresent(AdapterStream::retire);
        }
    }

    Optional<AdapterStream> find(RegistrationId registration) {
        return Optional.ofNullable(byRegistration.get(registration));
    }

    Collection<AdapterStream> all() {
        return byRegistration.values();
    }

    /** The ledger of a registration that has a stream, or had one not long ago. */
    Optional<LedgerSnapshot> ledger(RegistrationId registration) {
        AdapterStream s = byRegistration.get(registration);
        return s != null ? Optional.of(s.ledger()) : Optional.ofNullable(finalLedgers.get(registration));
    }

    /** Something about this stream has changed: whoever watches looks again, and a stream with nothing left goes. */
    void changed(AdapterStream stream) {
        if (stream.isOver() && byRegistration.remove(stream.registration(), stream)) {
            finalLedgers.put(stream.registration(), stream.ledger());
            pins.ended(stream.registration());
            stream.close();
        }
        for (Consumer<AdapterStream> w : watchers) {
            w.accept(stream);
        }
        ended.signalAll();
    }

    /** No new streams; those there are end. */
    void close() {
        closed = true;
        for (AdapterStream s : List.copyOf(byRegistration.values())) {
            s.retire();
        }
    }

    boolean isClosed() {
        return closed;
    }
}
