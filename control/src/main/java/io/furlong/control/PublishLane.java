package io.furlong.control;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.AdapterPublisher;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PublishException;
import io.furlong.core.RegistrationId;
import io.furlong.core.StepLog.StaleRegistrationException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings committed versions into force, one lane an adapter.
 *
 * <p>Invariants. Publishes of one registration are serial. At most one waits; a newer one takes its place. {@link #submit}
 * never waits for an engine, and no lane waits for another. A version that the engines can't take now is tried again with
 * growing pauses until a newer one replaces it; one that is itself at fault fails its adapter. The registry hears
 * {@code inForce} only after the publisher has returned.
 */
public final class PublishLane implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PublishLane.class);

    private final AdapterPublisher publisher;
    private final AdapterRegistry registry;
    private final Pause pause;
    private final Listener listener;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Guarded by {@link #lock}. A lane is there exactly as long as its thread runs. */
    private final Map<RegistrationId, Lane> lanes = new HashMap<>();
    private boolean closed;

    /** How long to wait before trying a version again. */
    public interface Pause {
        /** @param failures in a row, from 1 */
        Duration after(int failures);

        /** 100 ms, doubled up to 10 s. */
        Pause GROWING = failures -> Duration.ofMillis(Math.min(10_000, 100L << Math.min(failures - 1, 10)));
    }

    /** What a lane tells of its work, on its own thread. */
    public interface Listener {
        /** @param took from the first try to coming into force, back-off included */
        default void inForce(String adapter, PolicyStamp stamp, Duration took) {}

        default void failed(String adapter, PolicyStamp stamp, PublishException problem) {}
    }

    /** What one registration's lane has to do; guarded by the outer lock. */
    private static final class Lane {
        private Optional<AdapterArtifact> waiting;
        private boolean dropped;
        private final Thread thread;

        Lane(Function<Lane, Thread> start, AdapterArtifact first) {
            this.waiting = Optional.of(first);
            this.thread = start.apply(this);
        }
    }

    public PublishLane(AdapterPublisher publisher, AdapterRegistry registry, Pause pause, Listener listener) {
        this.publisher = publisher;
        this.registry = registry;
        this.pause = pause;
        this.listener = listener;
    }

    /** Publishes a committed version as soon as its lane is free. */
    public void submit(AdapterArtifact artifact) {
        RegistrationId id = artifact.stamp().registration();
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the publish lane is closed");
            }
            Lane lane = lanes.get(id);
            if (lane == null) {
                Lane started = new Lane(l -> Thread.ofVirtual().name("publish-" + artifact.adapter()).unstarted(() -> run(id, l)), artifact);
                lanes.put(id, started);
                started.thread.start();
            } else {
                lane.waiting = Optional.of(artifact);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Gives up what waits and is being tried for a registration that ends, and returns when its lane has stopped. */
    public void drop(RegistrationId id) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            Lane lane = lanes.get(id);
            if (lane == null) {
                return;
            }
            lane.dropped = true;
            lane.waiting = Optional.empty();
            lane.thread.interrupt();
            while (lanes.get(id) == lane) {
                changed.await();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until nothing is being published or waits for a registration; false when the patience runs out first. */
    public boolean awaitIdle(RegistrationId id, Duration patience) throws InterruptedException {
        long left = patience.toNanos();
        lock.lockInterruptibly();
        try {
            while (lanes.containsKey(id)) {
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

    private void run(RegistrationId id, Lane lane) {
        Optional<AdapterArtifact> next = take(id, lane);
        while (next.isPresent()) {
            publish(next.get(), lane);
            next = take(id, lane);
        }
    }

    /** The next version to publish; ends the lane when there is none. */
    private Optional<AdapterArtifact> take(RegistrationId id, Lane lane) {
        lock.lock();
        try {
            Optional<AdapterArtifact> next = lane.waiting;
            lane.waiting = Optional.empty();
            if (next.isEmpty() || lane.dropped) {
                lanes.remove(id, lane);
                changed.signalAll();
                return Optional.empty();
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** Tries until it is in force, replaced, given up, or the adapter is at fault. */
    private void publish(AdapterArtifact artifact, Lane lane) {
        PolicyStamp stamp = artifact.stamp();
        long start = System.nanoTime();
        for (int failures = 1; ; failures++) {
            try {
                if (!registry.store().mayAct()) {
                    throw new PublishException(PublishException.Blame.ENGINES, "this control plane may not act now: it doesn't hold the lease");
                }
                publisher.publish(artifact);
                registry.inForce(stamp);
                listener.inForce(artifact.adapter(), stamp, Duration.ofNanos(System.nanoTime() - start));
                return;
            } catch (PublishException e) {
                listener.failed(artifact.adapter(), stamp, e);
                LOG.warn("adapter '{}': version {} is not in force: {}", artifact.adapter(), stamp.version(), e.getMessage());
                switch (e.blame()) {
                    case ADAPTER -> {
                        registry.fail(stamp.registration(), "version " + stamp.version() + " was refused by the engines: " + e.getMessage(),
                                "look at the engines' logs; check rank, target_modules and learning rate");
                        return;
                    }
                    case ENGINES -> {
                        if (!waitBeforeRetry(lane, pause.after(failures))) {
                            return;
                        }
                    }
                }
            } catch (StaleRegistrationException e) {
                publisher.release(stamp);
                return;
            } catch (InterruptedException e) {
                return;
            } catch (LeaseLostException e) {
                LOG.warn("adapter '{}': version {} is left to the control plane that leads now", artifact.adapter(), stamp.version());
                return;
            } catch (RuntimeException e) {
                LOG.error("adapter '{}': publishing version {} broke", artifact.adapter(), stamp.version(), e);
                registry.fail(stamp.registration(), "publishing version " + stamp.version() + " broke: " + e,
                        "this is a defect of Furlong or its store; the log has the details");
                return;
            }
        }
    }

    /** False when a newer version waits or the lane is dropped: this one is not tried again. */
    private boolean waitBeforeRetry(Lane lane, Duration duration) {
        long left = duration.toNanos();
        lock.lock();
        try {
            while (left > 0 && lane.waiting.isEmpty() && !lane.dropped) {
                left = changed.awaitNanos(left);
            }
            return lane.waiting.isEmpty() && !lane.dropped;
        } catch (InterruptedException e) {
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Drops every lane; nothing is published any more. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            for (Lane lane : lanes.values()) {
                lane.dropped = true;
                lane.waiting = Optional.empty();
                lane.thread.interrupt();
            }
            while (!lanes.isEmpty()) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }
}
