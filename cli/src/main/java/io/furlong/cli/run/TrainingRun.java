package io.furlong.cli.run;

import io.furlong.cli.config.EngineConfig;
import io.furlong.cli.config.RunConfig;
import io.furlong.cli.report.LiveLine;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.report.RunSummary;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.AdapterRegistry.Request;
import io.furlong.control.DeadlineWatch;
import io.furlong.control.LeaseLostException;
import io.furlong.control.LedgerView;
import io.furlong.control.Limits;
import io.furlong.control.PublishLane;
import io.furlong.control.Recovered;
import io.furlong.control.RefusedException;
import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.VersionDirectories;
import io.furlong.control.store.Stores;
import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.HealthProbe;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PublishException;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.RegistryView;
import io.furlong.core.TrainBatch;
import io.furlong.rollout.Rollout;
import io.furlong.rollout.RolloutCheck;
import io.furlong.rollout.RolloutLimits;
import io.furlong.rollout.RolloutListener;
import io.furlong.rollout.RolloutParts;
import io.furlong.rollout.SingleTurn;
import io.furlong.rollout.StepAccount;
import io.furlong.rollout.data.Datasets;
import io.furlong.rollout.reward.Rewards;
import io.furlong.sglang.FleetException;
import io.furlong.torch.BaseModel;
import io.furlong.torch.Torch;
import io.furlong.torch.TorchArtifact;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.train.AdapterReport;
import io.furlong.train.StepOutcome;
import io.furlong.train.TrainReport;
import io.furlong.train.Trainer;
import io.furlong.train.TrainerOptions;
import io.furlong.train.TrainingCheck;
import io.furlong.train.checkpoint.Retention;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run: wires the rooms and holds the loop.
 *
 * <pre>
 * rollout.collect ─► trainer.train ─► versions on disk ─► registry.commit ─► publish lane ─► in force
 * </pre>
 *
 * <p>The loop is one thread; it waits for nothing but a batch. Every optimizer step commits before it is published. Adapters come and go beside
 * it ({@link Caretaker}); the trainer state of one is taken away only between two batches.
 */
public final class TrainingRun implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TrainingRun.class);
    private static final String TENANT = "local";
    /** Versions kept on disk beside those in use. */
    private static final int VERSIONS_KEPT = 2;
    private static final int PRUNED_AT_ONCE = 8;

    private final RunConfig config;
    private final RunRecord record;
    private final Progress progress;
    private final AdapterRegistry registry;
    private final Trainer trainer;
    private final Rollout rollout;
    private final PublishLane lane;
    private final Artifacts artifacts;
    private final Caretaker caretaker;
    private final Versions versions;
    private final Commits commits;
    private final Instant begun;
    private final InstantSource clock;
    private final RunObserver observer;
    /** Last opened first. */
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    /** Held while a batch is trained and committed, and while an adapter's trainer state is taken away. */
    private final ReentrantLock boundary = new ReentrantLock();
    /** The configuration the trainer knows; touched by the loop alone. */
    private final Map<RegistrationId, AdapterConfig> known = new HashMap<>();
    /** Versions before this one are gone; touched by the loop alone. */
    private final Map<RegistrationId, Long> pruned = new HashMap<>();
    private final List<PublishLane.Listener> publishListeners = new CopyOnWriteArrayList<>();
    private final List<HealthProbe> probes;
    private final Stop stop;
    /** Up to here {@link #changed} has looked. */
    private volatile RegistrySnapshot shown = RegistrySnapshot.EMPTY;
    private volatile boolean stopping;
    /** Another control plane has taken over: this process sends nothing, writes nothing and ends. */
    private volatile boolean leaseLost;
    /** Every adapter of run.yaml is registered, or has ended in an earlier process: the run may be over. */
    private volatile boolean allRegistered;
    private long batches;

    /** When the loop ends by itself. */
    public enum Stop {
        /** Once every adapter has ended. */
        WHEN_ALL_ENDED,
        /** Only when asked to. */
        WHEN_ASKED
    }

    /**
     * Opens everything: model, engines, store, what an earlier process left.
     *
     * @param record where figures go
     */
    public static TrainingRun open(RunConfig config, RunRecord record, Stop stop, InstantSource clock)
            throws IOException, FleetException, InterruptedException {
        return open(config, record, stop, clock, RunObserver.NONE);
    }

    /** The same, watched. */
    public static TrainingRun open(RunConfig config, RunRecord record, Stop stop, InstantSource clock, RunObserver observer)
            throws IOException, FleetException, InterruptedException {
        return new TrainingRun(config, record, stop, clock, observer);
    }

    private TrainingRun(RunConfig config, RunRecord record, Stop stop, InstantSource clock, RunObserver observer) throws IOException, FleetException, InterruptedException {
        this.config = config;
        this.record = record;
        this.stop = stop;
        this.clock = clock;
        this.observer = observer;
        begun = clock.instant();
        progress = new Progress(record);
        try {
            Path directory = Files.createDirectories(versionDirectory(config, record));
            Torch.useThreads(1);
            BaseModel base = opened(BaseModel.load(config.model()));
            HfTokenizer tokenizer = opened(HfTokenizer.load(config.model()));
            // Leads before anything is said to an engine.
            Store store = observer.store(opened(Stores.open(config.store(), this::leaseLost)));
            Engines engines = opened(Engines.start(config, base, store::mayAct, observer));
            Datasets datasets = opened(new Datasets(tokenizer, config.seed(), base.config().contextLength()));
            boolean deterministic = config.repeatability() == RunConfig.Repeatability.DETERMINISTIC;
            trainer = opened(new Trainer(base, config.model().getFileName().toString(), deterministic ? TrainerOptions.DETERMINISTIC : TrainerOptions.DEFAULT,
                    observer.disk()));
            Rewards rewards = new Rewards(Set.copyOf(config.customRewards()));
            RolloutLimits limits = limits(config);
            registry = AdapterRegistry.open(Limits.of(config.lora().maxAdapters(), engines.publisher()::adapterPlaces, publishing(config)),
                    List.of(new TrainingCheck(base.config(), config.lora().maxRank()), new RolloutCheck(rewards, datasets, limits), engines.check()), store, clock,
                    new VersionDirectories(List.of(directory)));
            versions = new Versions(registry, trainer, config.engine().publish(), directory);
            opened(DeadlineWatch.start(registry));
            lane = new PublishLane(engines.publisher(), registry, PublishLane.Pause.GROWING, new Published());
            // Closed after the lane, which may be reading their tensors.
            artifacts = opened(new Artifacts(lane));
            opened(lane);
            rollout = opened(new Rollout(new RolloutParts(registry, engines.sampler(), tokenizer, datasets, rewards, new SingleTurn(), engines::ready,
                    config.seed(), clock), limits, new Told(engines)));
            commits = opened(new Commits(registry, rollout, versions));
            probes = List.of(engines.health(), trainer.health());
            caretaker = opened(new Caretaker(new Caretaker.Surroundings(registry, trainer, rollout, lane, datasets, artifacts, progress, versions,
                    config.seed(), boundary, this::adapterEnded)));
        } catch (IOException | FleetException | InterruptedException | RuntimeException e) {
            close();
            throw e;
        }
    }

    private <T extends AutoCloseable> T opened(T part) {
        open.push(part);
        return part;
    }

    /** Versions lie where every engine sees them: the fleet's shared directory, else beside the store, else in the run's own directory. */
    private static Path versionDirectory(RunConfig config, RunRecord record) {
        return switch (config.engine()) {
            case EngineConfig.Fleet fleet -> fleet.adapterDir();
            case EngineConfig.Embedded _ -> config.store().equals("memory") || config.store().startsWith("jdbc:")
                    ? record.directory().resolve("versions")
                    : Path.of(config.store()).toAbsolutePath().resolveSibling("versions");
        };
    }

    private static Limits.Publishing publishing(RunConfig config) {
        return switch (config.engine().publish()) {
            case VERSIONED -> Limits.Publishing.VERSIONED;
            case SLOT -> Limits.Publishing.SLOT;
        };
    }

    private static RolloutLimits limits(RunConfig config) {
        RunConfig.Rollout r = config.rollout();
        RolloutLimits.Schedule schedule = config.repeatability() == RunConfig.Repeatability.DETERMINISTIC
                ? RolloutLimits.Schedule.DETERMINISTIC : RolloutLimits.Schedule.ASYNCHRONOUS;
        RolloutLimits d = RolloutLimits.of(r.globalBatchSize(), schedule);
        return new RolloutLimits(r.globalBatchSize(), r.maxCoalesceWait(), r.emptyBatchTimeout(), config.engine().concurrency(), d.dataParallel(),
                r.maxRetries(), d.stuckRewards(), d.requestDeadline(), schedule);
    }

    public AdapterRegistry registry() {
        return registry;
    }

    /** Where the attempts of running registrations are. */
    public LedgerView ledgers() {
        return rollout::ledger;
    }

    /** Whether engines and trainer are able to work. */
    public List<HealthProbe> probes() {
        return probes;
    }

    /** Tells a listener of every publish from now on. */
    public void onPublish(PublishLane.Listener listener) {
        publishListeners.add(listener);
    }

    /**
     * Registers what run.yaml names, leaving alone what an earlier process of this store has under way; then trains until it is to stop.
     *
     * @throws LeaseLostException when another control plane has taken over the store: nothing more is sent or written, what is committed is its
     */
    public RunSummary run() throws RefusedException, InterruptedException {
        Map<String, Recovered> recovered = new LinkedHashMap<>();
        for (Recovered r : registry.recovered()) {
            recovered.put(r.registration().name(), r);
            progress.arrived(r.registration().name(), r.registration().id());
        }
        caretaker.readmit(recovered.values());
        try (RegistryView.Subscription _ = registry.onChange(this::changed)) {
            for (Map.Entry<String, AdapterConfig> a : config.adapters().entrySet()) {
                Optional<Registration> ended = endedInThisRun(a.getKey(), recovered.values());
                ended.ifPresent(this::showEnded);
                if (ended.isEmpty() && !recovered.containsKey(a.getKey())) {
                    registry.register(new Request(TENANT, a.getKey(), a.getValue(), Request.WhenFull.QUEUE));
                }
            }
            changed(registry.snapshot());
            rollout.start();
            allRegistered = true;
            adapterEnded();
            if (leaseLost) {
                stop();
            }
            loop();
        }
        if (leaseLost) {
            throw new LeaseLostException("store: another control plane leads now; this one has ended. Started again, it waits for its turn");
        }
        return finish();
    }

    /** Called by the store on any thread, once. */
    private void leaseLost() {
        leaseLost = true;
        if (allRegistered) {
            stop();
        }
    }

    /** An adapter that an earlier process saw to its end, if this run is what is left of that one's: others of it are still under way. */
    private Optional<Registration> endedInThisRun(String name, Collection<Recovered> underWay) {
        Optional<Instant> start = underWay.stream().map(r -> r.registration().registeredAt()).min(Comparator.naturalOrder());
        return registry.live(name).isPresent() ? Optional.empty()
                : registry.previous(name).filter(r -> start.isPresent() && r.endedAt().filter(end -> !end.isBefore(start.get())).isPresent());
    }

    private void showEnded(Registration r) {
        progress.arrived(r.name(), r.id());
        registry.last(r.id()).ifPresent(commit -> progress.ended(r.id(), commit.ledger()));
        if (Files.isDirectory(r.config().save())) {
            progress.exported(r.id(), r.config().save());
        }
    }

    /** A line for each adapter, for a live view. */
    public List<LiveLine> lines() {
        return progress.lines(registry, rollout::statistics);
    }

    /** Asks the loop to end after the batch it is at: open groups are booked RETIRED, adapters keep what they have committed. Returns at once. */
    public void stop() {
        stopping = true;
        Thread.ofVirtual().name("stop").start(rollout::close);
    }

    private void changed(RegistrySnapshot snapshot) {
        List<Adapter> changed = snapshot.changedSince(shown);
        shown = snapshot;
        changed.forEach(a -> progress.arrived(a.name(), a.registration()));
        caretaker.changed(changed);
        if (changed.stream().flatMap(a -> registry.live(a.name()).stream()).anyMatch(r -> r.desired().rollback().isPresent())) {
            rollout.interruptCollect();
        }
    }

    private void adapterEnded() {
        if (stop == Stop.WHEN_ALL_ENDED && allRegistered && registry.live().isEmpty()) {
            stop();
        }
    }

    // The loop.

    private void loop() throws InterruptedException {
        Rollbacks rollbacks = new Rollbacks(registry, trainer, versions, artifacts);
        while (!stopping) {
            boundary.lock();
            try {
                rollbacks.carryOut();
            } finally {
                boundary.unlock();
            }
            TrainBatch batch = rollout.collect();
            if (!batch.isEmpty()) {
                boundary.lock();
                try {
                    train(batch);
                } finally {
                    boundary.unlock();
                }
            }
        }
    }

    private void train(TrainBatch batch) {
        observer.training(batch);
        TrainReport report = trainer.train(batch);
        batches++;
        record.record("", batches, Map.of("perf/batch_groups", (double) batch.groups().size(), "perf/train_tokens_per_second", report.tokensPerSecond(),
                "perf/train_seconds", report.duration().toNanos() / 1e9));
        Map<RegistrationId, Integer> accumulated = new HashMap<>();
        List<AdapterReport> stepped = new ArrayList<>();
        for (AdapterReport adapter : report.adapters().values()) {
            progress.trained(adapter);
            adapter.alarm().ifPresent(line -> LOG.warn("adapter '{}': {}", adapter.adapter(), line));
            switch (adapter.outcome()) {
                case StepOutcome.Accumulated(int groups) -> accumulated.put(adapter.registration(), groups);
                case StepOutcome.Stepped _ -> stepped.add(adapter);
                case StepOutcome.Vetoed vetoed -> veto(adapter, vetoed);
            }
        }
        commits.commit(stepped, this::committed);
        registry.accumulated(accumulated);
    }

    private void committed(AdapterReport report, StepAccount account, TorchArtifact artifact) {
        artifacts.submit(artifact);
        progress.stepped(account, report);
        adjust(report);
        prune(report);
    }

    private void veto(AdapterReport report, StepOutcome.Vetoed vetoed) {
        rollout.vetoed(report.registration());
        LOG.warn("adapter '{}': step refused: {}", report.adapter(), vetoed.reason());
        if (vetoed.inARow() >= Trainer.VETOES_THAT_FAIL) {
            registry.fail(report.registration(), vetoed.inARow() + " steps in a row were refused: " + vetoed.reason(),
                    "lower alpha or the learning rate, and look at the rewards");
        }
    }

    /** What someone asked for takes effect between two steps. */
    private void adjust(AdapterReport report) {
        registry.snapshot().find(report.adapter(), report.registration()).ifPresent(now -> {
            if (!now.config().equals(known.put(now.registration(), now.config()))) {
                trainer.adjust(now);
            }
        });
    }

    /** Several versions at once, since each removal is a transaction. */
    private void prune(AdapterReport report) {
        registry.snapshot().find(report.adapter(), report.registration()).flatMap(Adapter::inForce).ifPresent(inForce -> {
            long end = inForce.version() - VERSIONS_KEPT;
            long from = pruned.computeIfAbsent(report.registration(), _ -> Math.max(1, end - PRUNED_AT_ONCE));
            if (end - from >= PRUNED_AT_ONCE) {
                registry.removeVersions(report.registration(), LongStream.range(from, end).boxed().collect(Collectors.toSet()), Set.of());
                pruned.put(report.registration(), end);
            }
        });
    }

    // The end.

    private RunSummary finish() throws InterruptedException {
        rollout.close();
        for (Adapter a : registry.snapshot().all()) {
            rollout.ledger(a.registration()).ifPresent(ledger -> progress.ended(a.registration(), ledger));
            lane.drop(a.registration());
            caretaker.export(a);
        }
        return new RunSummary(config.seed(), Duration.between(begun, clock.instant()), "cpu", shown(config.model()), progress.tokensGenerated(),
                progress.tokensTrained(), progress.results(registry));
    }

    /** As people write it: from where they stand, if it lies there. */
    private static String shown(Path model) {
        Path here = Path.of("").toAbsolutePath();
        return (model.startsWith(here) ? here.relativize(model) : model).toString();
    }

    @Override
    public void close() {
        while (!open.isEmpty()) {
            Closing.quietly(open.pop());
        }
    }

    /** What the publish lane says. */
    private final class Published implements PublishLane.Listener {
        @Override
        public void inForce(String adapter, PolicyStamp stamp, Duration took) {
            artifacts.inForce(stamp);
            progress.inForce(adapter, stamp, took);
            caretaker.inForce(adapter, stamp);
            publishListeners.forEach(l -> l.inForce(adapter, stamp, took));
        }

        @Override
        public void failed(String adapter, PolicyStamp stamp, PublishException problem) {
            publishListeners.forEach(l -> l.failed(adapter, stamp, problem));
        }
    }

    /** What the rollout says. */
    private final class Told implements RolloutListener {
        private final Engines engines;

        Told(Engines engines) {
            this.engines = engines;
        }

        @Override
        public void adapterFault(String adapter, RegistrationId registration, String reason) {
            registry.fail(registration, reason, "mend it and register the adapter again");
        }

        @Override
        public void release(PolicyStamp stamp) {
            engines.publisher().release(stamp);
        }

        @Override
        public void emptyBatch(Duration waited) {
            record.record("", batches, Map.of("perf/empty_batch_seconds", waited.toNanos() / 1e9));
        }
    }
}
