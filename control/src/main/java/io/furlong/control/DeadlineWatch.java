package io.furlong.control;

import io.furlong.core.RegistryView.Subscription;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Calls {@link AdapterRegistry#expire} when time alone ends something; sleeps until then, or until the registry changes. */
public final class DeadlineWatch implements AutoCloseable {
    private final AdapterRegistry registry;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Guarded by {@link #lock}. */
    private boolean dirty = true;
    private boolean closed;
    private final Subscription subscription;

    private DeadlineWatch(AdapterRegistry registry) {
        this.registry = registry;
        this.subscription = registry.onChange(s -> wake());
    }

    public static DeadlineWatch start(AdapterRegistry registry) {
        DeadlineWatch watch = new DeadlineWatch(registry);
        Thread.ofVirtual().name("deadlines").start(watch::run);
        return watch;
    }

    private void wake() {
        lock.lock();
        try {
            dirty = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        while (await()) {
            registry.expire();
        }
    }

    /** True when it is time to look; false when closed. */
    private boolean await() {
        lock.lock();
        try {
            while (!closed) {
                if (dirty) {
                    dirty = false;
                }
                Optional<Instant> next = registry.nextExpiry();
                long left = next.map(n -> Duration.between(registry.clock().instant(), n).toNanos()).orElse(Long.MAX_VALUE);
                if (left <= 0) {
                    return true;
                }
                while (!closed && !dirty && left > 0) {
                    left = changed.awaitNanos(left);
                }
            }
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        subscription.close();
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
