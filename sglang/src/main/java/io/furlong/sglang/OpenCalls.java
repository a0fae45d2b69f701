package io.furlong.sglang;

import io.furlong.core.RegistrationId;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Requests that are out, by registration, and the registrations that have ended. Invariant: once a registration is closed here, no
 * request of it is sent any more, and each that was is either answered or cancelled. One lock guards it.
 */
final class OpenCalls {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<RegistrationId, Set<Open>> open = new HashMap<>();
    private final Set<RegistrationId> ended = new HashSet<>();

    /** One request that is out, or about to be. */
    static final class Open {
        final RegistrationId registration;
        final String rid;
        final Optional<Engine> engine;
        final GenerateCall call;

        Open(RegistrationId registration, String rid, Optional<Engine> engine, GenerateCall call) {
            this.registration = registration;
            this.rid = rid;
            this.engine = engine;
            this.call = call;
        }
    }

    /** Must come before the request's first byte is on its way. @return false if the registration has ended: then nothing may be sent */
    boolean begin(Open one) {
        lock.lock();
        try {
            if (ended.contains(one.registration)) {
                return false;
            }
            open.computeIfAbsent(one.registration, r -> new HashSet<>()).add(one);
            return true;
        } finally {
            lock.unlock();
        }
    }

    void returned(Open one) {
        lock.lock();
        try {
            Set<Open> all = open.get(one.registration);
            if (all != null && all.remove(one) && all.isEmpty()) {
                open.remove(one.registration);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    boolean ended(RegistrationId registration) {
        lock.lock();
        try {
            return ended.contains(registration);
        } finally {
            lock.unlock();
        }
    }

    /** From now on nothing of it is sent; whoever pauses for it wakes up. */
    void end(RegistrationId registration) {
        lock.lock();
        try {
            ended.add(registration);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    List<Open> of(RegistrationId registration) {
        lock.lock();
        try {
            return List.copyOf(open.getOrDefault(registration, Set.of()));
        } finally {
            lock.unlock();
        }
    }

    /** Cancels what is still out. @return how many */
    int writeOff(RegistrationId registration) {
        List<Open> left = of(registration);
        left.forEach(one -> one.call.cancel());
        return left.size();
    }

    /** Waits until nothing of the registration is out. @return false when the time is over first */
    boolean awaitNone(RegistrationId registration, Duration limit) throws InterruptedException {
        long left = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (open.containsKey(registration)) {
                if (left <= 0) {
                    return false;
                }
                left = changed.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Waits for the time given, or until the registration ends. */
    void pause(RegistrationId registration, Duration time) throws InterruptedException {
        long left = time.toNanos();
        lock.lockInterruptibly();
        try {
            while (left > 0 && !ended.contains(registration)) {
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    int size() {
        lock.lock();
        try {
            return open.values().stream().mapToInt(Set::size).sum();
        } finally {
            lock.unlock();
        }
    }
}
