package io.furlong.control;

import io.furlong.control.Retirement.Cause;
import io.furlong.control.Retirement.Mode;
import io.furlong.core.AdapterState;
import io.furlong.core.RegistryView.Subscription;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out what time alone decides: drains that took too long end now, wall-clock limits end adapters, a new day lets
 * tenants go on. Waits until then, or until the registry changes.
 */
public final class DeadlineWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DeadlineWatch.class);

    private final AdapterRegistry registry;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Guarded by {@link #lock}. */
    private boolean dirty = true;
    private boolean closed;
    private final Subscription subscription;

    DeadlineWatch(AdapterRegistry registry) {
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
            expire();
        }
    }

    void expire() {
        Instant now = registry.clock().instant();
        for (Registration r : registry.live()) {
            if (due(r).filter(at -> !now.isBefore(at)).isEmpty()) {
                continue;
            }
            try {
                if (r.retirement().isPresent()) {
                    registry.retire(r.name(), Mode.NOW, Cause.USER, r.reason());
                } else if (r.heldUntil().filter(at -> !now.isBefore(at)).isPresent()) {
                    registry.release(r.id());
                } else {
                    registry.retire(r.name(), Mode.DRAIN, Cause.FINISHED, StopRules.reached(r, now).orElse("wall-clock limit reached"));
                }
            } catch (RefusedException endedMeanwhile) {
                LOG.debug("{}", endedMeanwhile.getMessage());
            }
        }
    }

    /** When {@link #expire} has something to do next. */
    Optional<Instant> nextExpiry() {
        return registry.live().stream().flatMap(r -> due(r).stream()).min(Instant::compareTo);
    }

    private static Optional<Instant> due(Registration r) {
        if (r.retirement().isPresent()) {
            return r.retirement().filter(t -> t.mode() == Mode.DRAIN && r.state() == AdapterState.RETIRING).map(Retirement::deadline);
        }
        return Stream.of(r.heldUntil(), StopRules.wallClockEnd(r)).flatMap(Optional::stream).min(Instant::compareTo);
    }

    /** True when it is time to look; false when closed. */
    private boolean await() {
        lock.lock();
        try {
            while (!closed) {
                if (dirty) {
                    dirty = false;
                }
                Optional<Instant> next = nextExpiry();
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
