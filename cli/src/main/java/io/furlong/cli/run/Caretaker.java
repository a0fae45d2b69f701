package io.furlong.cli.run;

import io.furlong.control.AdapterRegistry;
import io.furlong.control.PublishLane;
import io.furlong.control.Recovered;
import io.furlong.control.RefusedException;
import io.furlong.control.Registration;
import io.furlong.control.Retirement;
import io.furlong.core.Adapter;
import io.furlong.core.ConfigException;
import io.furlong.core.Cursor;
import io.furlong.core.EvalConfig;
import io.furlong.core.InitFrom;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PromptSource;
import io.furlong.core.RegistrationId;
import io.furlong.core.SamplerException;
import io.furlong.core.Seeds;
import io.furlong.core.StepCommit;
import io.furlong.core.StepLog.StaleRegistrationException;
import io.furlong.rollout.Evaluation;
import io.furlong.rollout.PromptSources;
import io.furlong.rollout.Rollout;
import io.furlong.rollout.reward.RewardRunner.RewardException;
import io.furlong.train.Prepared;
import io.furlong.train.Start;
import io.furlong.train.Trainer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings adapters in and sees them off: everything about an adapter that is not a training step.
 *
 * <p>Each arrival, evaluation and departure runs on a virtual thread of its own, so no tenant waits for another's dataset or hanging request.
 * A registration arrives once and departs once. Between the two only the training loop touches its trainer state; a departure takes it away
 * under {@code boundary}, which the loop holds while it trains and commits a batch.
 */
final class Caretaker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Caretaker.class);
    private static final Duration WRITE_OFF = Duration.ofSeconds(10);
    private static final Duration LAST_PUBLISH = Duration.ofSeconds(30);
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(2);

    private final Surroundings around;
    private final Set<RegistrationId> arrived = ConcurrentHashMap.newKeySet();
    private final Set<RegistrationId> departing = ConcurrentHashMap.newKeySet();
    private final ExecutorService tasks = Executors.newVirtualThreadPerTaskExecutor();

    /**
     * What it works with.
     *
     * @param boundary held by the loop while it trains and commits a batch
     * @param ended    called whenever an adapter has ended
     */
    record Surroundings(AdapterRegistry registry, Trainer trainer, Rollout rollout, PublishLane lane, PromptSources sources, Artifacts artifacts,
                        Progress progress, Versions versions, long runSeed, Lock boundary, Runnable ended) {}

    Caretaker(Surroundings around) {
        this.around = around;
    }

    /** Follows the registry. Called with what changed in every snapshot, on the writer's thread: only starts things. */
    void changed(Collection<Adapter> changed) {
        for (Adapter a : changed) {
            switch (a.state()) {
                case PENDING -> once(arrived, a, () -> arrive(a));
                case RETIRING, CLEANUP -> once(departing, a, () -> depart(a));
                case QUEUED, ACTIVE, PAUSED, COMPLETED, FAILED -> { }
            }
        }
    }

    private void once(Set<RegistrationId> done, Adapter a, Runnable task) {
        if (!tasks.isShutdown() && done.add(a.registration())) {
            tasks.submit(() -> {
                try {
                    task.run();
                } catch (RuntimeException e) {
                    LOG.error("adapter '{}': fault of Furlong's own", a.name(), e);
                    around.registry().fail(a.registration(), "internal fault: " + e, "report it with the log");
                }
            });
        }
    }

    // Arrival.

    /**
     * Builds up again what the last process left. Blocks until the versions that were in force are loaded, or their push has begun to be
     * repeated; called before the rollout starts, so that no request goes out for a version that no engine holds, and before
     * {@link #changed}, so that nobody departs meanwhile: what asks the rollout about one adapter makes it take up all of them, and one that
     * was not restored by then would begin anew.
     */
    void readmit(Collection<Recovered> left) throws InterruptedException {
        for (Recovered r : left.stream().filter(this::restored).toList()) {
            pushAgain(r.registration().adapter(), r.last().orElseThrow().commit());
        }
    }

    /** False for one that has nothing to go on with, or is not to go on. */
    private boolean restored(Recovered r) {
        Adapter a = r.registration().adapter();
        around.progress().ended(a.registration(), r.ledger());
        return switch (r.registration().state()) {
            case PENDING, ACTIVE, PAUSED -> r.last().map(v -> restored(a, r, v.commit())).orElse(false);
            case QUEUED, RETIRING, CLEANUP, COMPLETED, FAILED -> false;
        };
    }

    private boolean restored(Adapter a, Recovered r, StepCommit commit) {
        arrived.add(a.registration());
        try {
            around.trainer().attach(a, new Start.Continue(commit.checkpoint()));
            around.rollout().restore(a.registration(), r.ledger(), commit.cursor(), commit.generatedTokens(), commit.trainedTokens());
            return true;
        } catch (RuntimeException e) {
            refuse(a, e);
            return false;
        }
    }

    private void pushAgain(Adapter a, StepCommit commit) throws InterruptedException {
        try {
            around.artifacts().submit(around.trainer().reopen(a.name(), commit.checkpoint()).artifact());
            around.lane().awaitIdle(a.registration(), LAST_PUBLISH);
        } catch (RuntimeException e) {
            refuse(a, e);
        }
    }

    private void arrive(Adapter a) {
        try {
            Adapter counted = withRows(a);
            Optional<StepCommit> previous = previous(counted);
            Start start = start(counted, previous);
            around.trainer().attach(counted, start);
            Prepared first = around.versions().next(a);
            Cursor cursor = previous.map(StepCommit::cursor).orElse(Cursor.START);
            around.rollout().restore(a.registration(), LedgerSnapshot.EMPTY, cursor, 0, 0);
            around.registry().commit(new StepCommit(a.name(), first.artifact().stamp(), first.checkpoint(), first.checkpointDigest(),
                    LedgerSnapshot.EMPTY, cursor, 0, 0));
            around.artifacts().submit(first.artifact());
        } catch (StaleRegistrationException e) {
            LOG.info("adapter '{}': ended before its first version", a.name());
        } catch (IOException | RuntimeException e) {
            refuse(a, e);
        }
    }

    /** Opens the dataset once, so that an unreadable one is known before anything is sampled, and the step at which num_epoch ends. */
    private Adapter withRows(Adapter a) {
        try (PromptSource source = around.sources().open(a.name(), a.config(), a.config().data())) {
            long rows = source.rows();
            if (rows == 0) {
                throw new ConfigException("data", a.config().data().path() + ": no row is left"
                        + (source.tooLong() > 0 ? "; " + source.tooLong() + " prompts are too long" : ""));
            }
            around.registry().rows(a.registration(), rows);
        }
        return around.registry().snapshot().find(a.name(), a.registration()).orElse(a);
    }

    private Optional<StepCommit> previous(Adapter a) {
        if (!(a.config().initFrom().orElse(null) instanceof InitFrom.Resume)) {
            return Optional.empty();
        }
        return Optional.of(around.registry().previous(a.name()).flatMap(p -> around.registry().last(p.id()))
                .orElseThrow(() -> new ConfigException("init_from", "resume: no earlier run of '" + a.name() + "' has committed a step")));
    }

    private Start start(Adapter a, Optional<StepCommit> previous) {
        return switch (a.config().initFrom().orElse(null)) {
            case null -> new Start.Fresh(Seeds.init(around.runSeed(), a.name()));
            case InitFrom.Peft(Path directory) -> new Start.Weights(directory);
            case InitFrom.Version v -> new Start.Weights(around.registry().store().version(v.registration(), v.version())
                    .map(row -> row.commit().checkpoint())
                    .orElseThrow(() -> new ConfigException("init_from", "adapter '" + v.adapter() + "' has no version " + v.version())));
            case InitFrom.Resume _ -> new Start.Continue(previous.orElseThrow().checkpoint());
        };
    }

    private void refuse(Adapter a, Exception e) {
        String reason = Objects.requireNonNullElse(e.getMessage(), e.toString()).lines().findFirst().orElse(e.toString());
        LOG.debug("adapter '{}' can't start", a.name(), e);
        around.registry().fail(a.registration(), reason, "mend it and register the adapter again");
    }

    // In force.

    /** A version came into force: evaluate it where that is due, and end the adapter where it is done. */
    void inForce(String name, PolicyStamp stamp) {
        Optional<Adapter> adapter = around.registry().snapshot().find(name, stamp.registration());
        if (adapter.isEmpty() || !adapter.get().state().sampleable() || tasks.isShutdown()) {
            return;
        }
        Adapter a = adapter.get();
        boolean last = stamp.step() >= a.targetStep();
        if (a.config().eval().isEmpty() || !due(a, stamp, last)) {
            endIfDone(a);
            return;
        }
        Rollout.Pin pin;
        try {
            pin = around.rollout().pin(stamp);
        } catch (IllegalStateException endedMeanwhile) {
            LOG.debug("adapter '{}': version {} is not evaluated: {}", name, stamp.version(), endedMeanwhile.getMessage());
            return;
        }
        tasks.submit(() -> {
            try (pin) {
                evaluate(a, stamp, a.config().eval().get(), last);
            }
            endIfDone(a);
        });
    }

    private static boolean due(Adapter a, PolicyStamp stamp, boolean last) {
        int every = a.config().eval().map(EvalConfig::every).orElse(0);
        return last || stamp.version() == 1 || (every > 0 && stamp.step() % every == 0);
    }

    private void evaluate(Adapter a, PolicyStamp stamp, EvalConfig eval, boolean last) {
        try {
            Evaluation e = around.rollout().evaluate(a.registration(), stamp, eval);
            around.progress().evaluated(e);
            around.registry().evaluated(stamp, e.greedyAccuracy());
        } catch (SamplerException | RewardException e) {
            if (around.registry().snapshot().find(a.name(), a.registration()).map(now -> now.state().sampleable()).orElse(false)) {
                LOG.warn("adapter '{}': version {} could not be evaluated: {}", a.name(), stamp.version(), e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void endIfDone(Adapter a) {
        around.registry().stopReached(a.registration()).ifPresent(why -> {
            try {
                around.registry().retire(a.name(), Retirement.Mode.DRAIN, Retirement.Cause.FINISHED, why);
            } catch (RefusedException e) {
                LOG.debug("adapter '{}' was ending already: {}", a.name(), e.getMessage());
            }
        });
    }

    // Departure.

    private void depart(Adapter a) {
        try {
            around.rollout().awaitEnded(a.registration(), WRITE_OFF).ifPresent(ledger -> around.progress().ended(a.registration(), ledger));
            Optional<Retirement> how = around.registry().live(a.name()).filter(r -> r.id().equals(a.registration())).flatMap(Registration::retirement);
            if (how.map(r -> r.mode() == Retirement.Mode.DRAIN).orElse(false)) {
                awaitBoundary();
                around.lane().awaitIdle(a.registration(), LAST_PUBLISH);
            } else {
                around.lane().drop(a.registration());
            }
            around.registry().stopped(a.registration());
            around.boundary().lock();
            try {
                around.trainer().detach(a.name());
            } finally {
                around.boundary().unlock();
            }
            export(a);
            around.artifacts().forget(a.registration());
            around.registry().cleaned(a.registration());
            around.ended().run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A last step that the loop is committing is with the publish lane once this returns. */
    private void awaitBoundary() {
        around.boundary().lock();
        around.boundary().unlock();
    }

    /** Leaves the last committed version in the adapter's own directory, in PEFT's layout; not when that is another control plane's business by now. */
    void export(Adapter a) {
        if (!around.registry().store().mayAct()) {
            LOG.warn("adapter '{}': not exported to {}: the lease is not held", a.name(), a.config().save());
            return;
        }
        around.registry().last(a.registration()).ifPresent(commit -> {
            try {
                Export.peft(commit.checkpoint(), a.config().save());
                around.progress().exported(a.registration(), a.config().save());
            } catch (IOException e) {
                LOG.warn("adapter '{}': could not be exported to {}: {}", a.name(), a.config().save(), e.getMessage());
            }
        });
    }

    @Override
    public void close() throws InterruptedException {
        tasks.shutdown();
        if (!tasks.awaitTermination(CLOSE_GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
            tasks.shutdownNow();
            tasks.awaitTermination(CLOSE_GRACE.toMillis(), TimeUnit.MILLISECONDS);
        }
    }
}
