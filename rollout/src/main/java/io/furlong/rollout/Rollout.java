package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.Cursor;
import io.furlong.core.EvalConfig;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.Outcome;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistryView;
import io.furlong.core.SamplerException;
import io.furlong.core.TrainBatch;
import io.furlong.rollout.reward.RewardRunner.RewardException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * From registered adapters to train batches. Follows the registry by itself: an adapter that becomes ACTIVE is generated for,
 * a PAUSED one is admitted nothing new, one that retires ends what it has open. The training loop asks for batches and says what
 * became of them.
 *
 * <p>Threads: one admits groups, one virtual thread a group waits for its engines, its reward and its filters, short-lived ones
 * read datasets and abort requests, one brings messages to the listener. All state is in {@link Streams} under one lock; these
 * threads wait on its conditions and nothing polls.
 */
public final class Rollout implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Rollout.class);
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(2);

    private final RolloutParts parts;
    private final RolloutLimits limits;
    private final RolloutListener listener;
    private final Courier courier = new Courier();
    private final Streams streams;
    private final Pins pins;
    private final RequestLimit limit;
    private final Dispatcher dispatcher;
    private final BatchCollector collector;
    private final GroupRun groupRun;
    private final Evaluator evaluator;
    private final Map<AdapterStream, StreamKit> kits = new ConcurrentHashMap<>();
    private final Map<RegistrationId, Restored> restored = new HashMap<>();
    private final Thread admitting;
    private RegistryView.@Nullable Subscription subscription;
    private boolean draining;
    /** Whoever waits for a batch is to come back without one; guarded by the streams' lock. */
    private boolean interrupted;

    private record Restored(LedgerSnapshot ledger, Cursor cursor, long generatedTokens, long trainedTokens) {
        static final Restored NOTHING = new Restored(LedgerSnapshot.EMPTY, Cursor.START, 0, 0);
    }

    public Rollout(RolloutParts parts, RolloutLimits limits, RolloutListener listener) {
        this.parts = parts;
        this.limits = limits;
        this.listener = listener;
        pins = new Pins(stamp -> courier.send(() -> listener.release(stamp)));
        streams = new Streams(this::open, pins);
        limit = new RequestLimit(streams.lock, this::requestLimit, streams.admissible::signal);
        dispatcher = new Dispatcher(streams, limit, pins);
        collector = new BatchCollector(streams, limits);
        Requests requests = new Requests(parts.sampler(), parts.registry(), limit, limits.requestDeadline());
        groupRun = new GroupRun(requests, parts.generator(), parts.tokenizer(), pins, streams.lock, parts.clock(), parts.runSeed());
        evaluator = new Evaluator(requests, parts.generator(), parts.tokenizer(), parts.sources(), parts.runSeed());
        admitting = Thread.ofVirtual().name("rollout-dispatcher").unstarted(this::admit);
    }

    private int requestLimit() {
        return Math.max(1, limits.requestsPerEngine() * Math.max(1, parts.engines().getAsInt()));
    }

    /** Begins to follow the registry and to admit groups. */
    public void start() {
        subscription = parts.registry().onChange(snapshot -> locked(() -> streams.apply(snapshot)));
        locked(() -> streams.apply(parts.registry().snapshot()));
        admitting.start();
    }

    /**
     * Continues a registration from its last committed step (or a new one from another's cursor). Call it before the registration
     * is ACTIVE. Attempts that were open in {@code ledger} become REQUEUED(crash); the cursor's open rows go out first.
     */
    public void restore(RegistrationId registration, LedgerSnapshot ledger, Cursor cursor, long generatedTokens, long trainedTokens) {
        locked(() -> {
            if (streams.find(registration).isPresent()) {
                throw new IllegalStateException("registration " + registration + " is running already; restore it before it is ACTIVE");
            }
            restored.put(registration, new Restored(ledger.afterCrash(), cursor, generatedTokens, trainedTokens));
        });
    }

    /** More engines, or fewer: groups may fit that didn't. */
    public void enginesChanged() {
        locked(limit::wake);
    }

    // Training.

    /**
     * Waits for a batch: a full one, a partial one after {@code max_coalesce_wait} or when nobody could add to it, an empty one
     * after {@code empty_batch_timeout}, {@link #interruptCollect} or once closed. The groups of an adapter in {@link TrainBatch#stepping} make its step whole.
     */
    public TrainBatch collect() throws InterruptedException {
        streams.lock.lockInterruptibly();
        try {
            Instant begun = parts.clock().instant();
            collector.begin(begun);
            while (true) {
                streams.apply(parts.registry().snapshot());
                Instant now = parts.clock().instant();
                Optional<TrainBatch> batch = collector.poll(now, parts.registry().snapshot());
                if (batch.isPresent()) {
                    if (batch.get().isEmpty()) {
                        courier.send(() -> listener.emptyBatch(Duration.between(begun, now)));
                    }
                    return batch.get();
                }
                if (streams.isClosed() || interrupted) {
                    interrupted = false;
                    return new TrainBatch(List.of(), Set.of(), parts.registry().snapshot().epoch());
                }
                await(streams.collectable, Duration.between(now, collector.wakeAt()));
            }
        } finally {
            streams.lock.unlock();
        }
    }

    /** The trainer has something else to do: a {@link #collect} that waits, or else the next one that would, returns an empty batch at once. */
    public void interruptCollect() {
        locked(() -> {
            interrupted = true;
            streams.collectable.signalAll();
        });
    }

    /**
     * What a step with everything collected for this adapter so far will have used, as {@link io.furlong.core.StepCommit} has to
     * record it. After it call exactly one of {@link #stepped}, {@link #vetoed} and {@link #dropped}.
     *
     * @return empty when the registration has ended: its gradient is to be dropped, its groups are RETIRED
     */
    public Optional<StepAccount> prepareStep(RegistrationId registration) {
        return locked(() -> {
            streams.apply(parts.registry().snapshot());
            return streams.find(registration).flatMap(AdapterStream::prepareStep);
        });
    }

    /** The step is committed: its groups are TRAINED. */
    public void stepped(StepAccount account) {
        locked(() -> streams.find(account.registration()).ifPresent(s -> s.stepped(account)));
    }

    /** The step was refused (NaN, say): the groups collected for this adapter are FAILED(veto); there is no step. */
    public void vetoed(RegistrationId registration) {
        locked(() -> streams.find(registration).ifPresent(s -> s.notStepped(new Outcome.Failed("veto"))));
    }

    /** The commit found the registration ended: the groups collected for it are RETIRED. */
    public void dropped(RegistrationId registration) {
        locked(() -> streams.find(registration).ifPresent(s -> s.notStepped(new Outcome.Retired())));
    }

    /**
     * Waits until nothing of an ended registration is open at the engines, in a reward or in a batch; {@code deadline} after it ended
     * what is left is written off as RETIRED and its results are ignored. While it drains it has not ended: that lasts until its step is
     * committed, can't be completed, or the registry says that it is to end now.
     *
     * @return the last ledger; empty if the registration never ran
     */
    public Optional<LedgerSnapshot> awaitEnded(RegistrationId registration, Duration deadline) throws InterruptedException {
        streams.lock.lockInterruptibly();
        try {
            streams.apply(parts.registry().snapshot());
            while (streams.find(registration).filter(s -> !s.isRetired()).isPresent()) {
                streams.ended.await();
            }
            if (!awaitUntil(() -> streams.find(registration).isEmpty(), deadline)) {
                streams.find(registration).filter(AdapterStream::isRetired).ifPresent(AdapterStream::writeOff);
            }
            return streams.ledger(registration);
        } finally {
            streams.lock.unlock();
        }
    }

    // Evaluation.

    /**
     * Measures one version on the adapter's held-out rows. Blocks; training goes on meanwhile. The version stays loaded until it
     * is done.
     *
     * @param stamp a version in force, or pinned by {@link #pin}
     * @throws RewardException  the reward threw, hung or returned nonsense
     * @throws SamplerException the engines can't, or the adapter has ended
     */
    public Evaluation evaluate(RegistrationId registration, PolicyStamp stamp, EvalConfig eval)
            throws SamplerException, RewardException, InterruptedException {
        try (Pin _ = pin(stamp)) {
            AdapterStream stream;
            StreamKit kit;
            streams.lock.lockInterruptibly();
            try {
                stream = streams.find(registration).orElseThrow(() -> new SamplerException(SamplerException.Kind.UNWANTED,
                        "registration " + registration + " isn't running"));
                kit = Objects.requireNonNull(kits.get(stream));
            } finally {
                streams.lock.unlock();
            }
            kit.open();
            return evaluator.evaluate(stream, kit, stamp, eval, Math.max(1, requestLimit() / 2));
        }
    }

    /** Keeps a version loaded until it is closed. */
    public interface Pin extends AutoCloseable {
        @Override
        void close();
    }

    /** @throws IllegalStateException if the version is neither in force nor pinned: the engines may have unloaded it */
    public Pin pin(PolicyStamp stamp) {
        locked(() -> {
            streams.apply(parts.registry().snapshot());
            if (!pins.held(stamp)) {
                throw new IllegalStateException("version " + stamp.version() + " (" + stamp.servedName() + ") is not in force any more");
            }
            pins.pin(stamp);
        });
        return () -> locked(() -> pins.unpin(stamp));
    }

    // What it looks like from outside.

    /** The ledger of a registration that runs, or ran not long ago. */
    public Optional<LedgerSnapshot> ledger(RegistrationId registration) {
        return locked(() -> streams.ledger(registration));
    }

    /** Figures of all adapters that run, in order of activation. */
    public List<AdapterStatistics> statistics() {
        return locked(() -> {
            List<AdapterStatistics> all = new ArrayList<>();
            for (AdapterStream s : streams.all()) {
                StreamKit kit = Objects.requireNonNull(kits.get(s));
                all.add(s.statistics(kit.stuckRewards(), kit.abandonedRewards()));
            }
            return all;
        });
    }

    public int requestsInFlight() {
        return locked(limit::inFlight);
    }

    // The end.

    /**
     * Admits nothing more and waits until no group is being made, at most {@code grace}. Batches can still be collected.
     *
     * @return true if nothing is being made any more
     */
    public boolean drain(Duration grace) throws InterruptedException {
        streams.lock.lockInterruptibly();
        try {
            draining = true;
            return awaitUntil(() -> streams.all().stream().allMatch(s -> s.ledger().inFlight() == 0), grace);
        } finally {
            streams.lock.unlock();
        }
    }

    /** Ends everything that is open: it is booked RETIRED, so that every ledger has nothing in flight, buffered or in training. */
    @Override
    public void close() {
        RegistryView.Subscription s = subscription;
        if (s != null) {
            s.close();
        }
        boolean interrupted = false;
        streams.lock.lock();
        try {
            streams.close();
            streams.admissible.signalAll();
            streams.collectable.signalAll();
            awaitUntil(() -> streams.all().isEmpty(), CLOSE_GRACE);
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            List.copyOf(streams.all()).forEach(AdapterStream::writeOff);
            streams.lock.unlock();
        }
        courier.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // Inside.

    private AdapterStream open(Adapter a) {
        Restored r = Optional.ofNullable(restored.remove(a.registration())).orElse(Restored.NOTHING);
        AdapterStream stream = new AdapterStream(a, r.ledger(), r.cursor(),
                new StreamFigures(parts.clock(), r.generatedTokens(), r.trainedTokens()), limits, surroundings);
        kits.put(stream, new StreamKit(a.name(), a.config(), parts.sources(), parts.rewards(), limits.stuckRewards(),
                stuck -> locked(() -> stream.fault("reward " + a.config().reward().name() + ": " + stuck
                        + " calls have not returned within " + a.config().reward().timeout().toMillis() + " ms; none is left to run more"))));
        return stream;
    }

    private final AdapterStream.Surroundings surroundings = new AdapterStream.Surroundings() {
        @Override
        public void readRows(AdapterStream stream) {
            StreamKit kit = Objects.requireNonNull(kits.get(stream));
            Thread.ofVirtual().name("rows-" + stream.name()).start(() -> {
                try {
                    Optional<PromptQueue.Block> block = kit.read(stream.prompts());
                    locked(() -> block.ifPresent(stream::rowsRead));
                } catch (RuntimeException e) {
                    log.debug("adapter '{}': can't read rows", stream.name(), e);
                    locked(() -> stream.fault(Objects.requireNonNullElse(e.getMessage(), e.toString())));
                }
            });
        }

        @Override
        public void changed(AdapterStream stream) {
            streams.changed(stream);
        }

        @Override
        public void fault(AdapterStream stream, String reason) {
            courier.send(() -> listener.adapterFault(stream.name(), stream.registration(), reason));
        }

        @Override
        public void retired(AdapterStream stream) {
            if (stream.ledger().inFlight() > 0) {
                Thread.ofVirtual().name("abort-" + stream.name()).start(() -> parts.sampler().abort(stream.registration()));
            }
        }

        @Override
        public void closed(AdapterStream stream) {
            StreamKit kit = Objects.requireNonNull(kits.remove(stream));
            Thread.ofVirtual().name("close-" + stream.name()).start(kit::close);
        }
    };

    private void admit() {
        try {
            while (true) {
                Attempt attempt;
                StreamKit kit;
                streams.lock.lockInterruptibly();
                try {
                    Optional<Attempt> next;
                    while ((next = admissible()).isEmpty()) {
                        if (streams.isClosed()) {
                            return;
                        }
                        await(streams.admissible, Duration.between(parts.clock().instant(), dispatcher.wakeAt()));
                    }
                    attempt = next.get();
                    kit = Objects.requireNonNull(kits.get(attempt.stream));
                } finally {
                    streams.lock.unlock();
                }
                Thread.ofVirtual().name("group-" + attempt.stream.name() + "-" + attempt.dispatch).start(() -> groupRun.run(attempt, kit));
            }
        } catch (InterruptedException e) {
            log.warn("no more groups are admitted: the dispatcher was interrupted");
        }
    }

    private Optional<Attempt> admissible() {
        return draining || streams.isClosed() ? Optional.empty() : dispatcher.next(parts.clock().instant());
    }

    private static void await(Condition condition, Duration most) throws InterruptedException {
        if (most.compareTo(Duration.ofDays(1)) > 0) {
            condition.await();
        } else {
            condition.awaitNanos(most.toNanos());
        }
    }

    private boolean awaitUntil(BooleanSupplier there, Duration most) throws InterruptedException {
        long left = most.toNanos();
        while (!there.getAsBoolean()) {
            if (left <= 0) {
                return false;
            }
            left = streams.ended.awaitNanos(left);
        }
        return true;
    }

    private void locked(Runnable work) {
        streams.lock.lock();
        try {
            work.run();
        } finally {
            streams.lock.unlock();
        }
    }

    private <T> T locked(Supplier<T> work) {
        streams.lock.lock();
        try {
            return work.get();
        } finally {
            streams.lock.unlock();
        }
    }
}
