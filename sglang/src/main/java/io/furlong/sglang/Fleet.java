package io.furlong.sglang;

import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The engines: finds them, brings each to hold what it must before it gets traffic, looks after those that fail, takes away what nothing
 * needs. One virtual thread watches; work on an engine runs on a thread of its own, one at a time, so a hanging engine holds up nobody.
 *
 * <p>What is known stands in the {@link Roster}; this class is the one that acts on it.
 */
public final class Fleet implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Fleet.class);

    private final FleetConfig config;
    private final Http http;
    private final Discovery discovery;
    private final Optional<RouterClient> managed;
    private final Roster roster;
    private final Loading loading;
    private final FleetCounters counters = new FleetCounters();
    private final ExecutorService tasks = Executors.newVirtualThreadPerTaskExecutor();
    /** Engines that somebody works on, so that nobody else begins. */
    private final Set<Engine> tending = ConcurrentHashMap.newKeySet();
    private final ReentrantLock reconcileLock = new ReentrantLock();
    /** The reconcile that runs, shared by all who want one; guarded by {@code reconcileLock}. */
    private Optional<Future<?>> reconcile = Optional.empty();
    private volatile boolean closed;

    Fleet(FleetConfig config, Http http, Discovery discovery, Optional<RouterClient> managed, InstantSource time) {
        this.config = config;
        this.http = http;
        this.discovery = discovery;
        this.managed = managed;
        this.roster = new Roster(config, time, this::tendSoon);
        this.loading = new Loading(roster, config, this::unloadWhatNothingNeeds);
    }

    /** A fixed list of engines, spoken to directly. Returns when at least one is ready. @throws FleetException when none is in time */
    public static Fleet direct(Http http, List<URI> engines, FleetConfig config, Duration patience) throws FleetException, InterruptedException {
        Fleet fleet = new Fleet(config, http, Discovery.fixed(engines), Optional.empty(), InstantSource.system());
        return fleet.started(patience);
    }

    /**
     * What stands at {@code url}: SGLang's router, whose workers are found by asking it, or a single server.
     *
     * @param routing whether generation goes through the router, or straight to its workers
     */
    public static Fleet at(Http http, URI url, Routing routing, FleetConfig config, Duration patience) throws FleetException, InterruptedException {
        RouterClient router = new RouterClient(http, url);
        try {
            if (router.workers(patience).isEmpty()) {
                return direct(http, List.of(url), config, patience);
            }
        } catch (EngineException e) {
            throw new FleetException(e.getMessage());
        }
        FleetConfig with = routing == Routing.ROUTER ? config.withRouter(new SglangClient(http, url), FleetConfig.Workers.LEFT_ALONE) : config;
        return new Fleet(with, http, Discovery.router(router), Optional.empty(), InstantSource.system()).started(patience);
    }

    /**
     * A router whose list of workers Furlong keeps: engines enter it once they hold what they must, and leave it when they fail.
     *
     * @param engines those that it does not list yet; empty when it has them all
     */
    public static Fleet managing(Http http, URI url, List<URI> engines, FleetConfig config, Duration patience) throws FleetException, InterruptedException {
        FleetConfig with = config.withRouter(new SglangClient(http, url), FleetConfig.Workers.MANAGED);
        Fleet fleet = new Fleet(with, http, Discovery.managed(new RouterClient(http, url), engines), Optional.of(new RouterClient(http, url)), InstantSource.system());
        return fleet.started(patience);
    }

    /** Where generation is sent when there is a router. */
    public enum Routing { DIRECT, ROUTER }

    private Fleet started(Duration patience) throws FleetException, InterruptedException {
        try {
            discover();
            roster.dueForTending().forEach(this::tendSoon);
            tasks.submit(this::watch);
            roster.await(() -> !roster.ready().isEmpty() || roster.engines().stream().allMatch(e -> e.state == EngineState.OUT), patience);
            if (roster.ready().isEmpty()) {
                throw new FleetException("no engine is ready after " + patience.toSeconds() + " s: " + roster.views().stream()
                        .map(v -> v.url() + " (" + v.reason() + ")").toList());
            }
            return this;
        } catch (EngineException e) {
            close();
            throw new FleetException(e.getMessage());
        } catch (FleetException | InterruptedException e) {
            close();
            throw e;
        }
    }

    public FleetConfig config() {
        return config;
    }

    /** Every engine as it stands now. */
    public List<EngineView> engines() {
        return roster.views();
    }

    /** Waits until so many engines take requests. @return false when the time is over first */
    public boolean awaitReady(int engines, Duration limit) throws InterruptedException {
        return roster.await(() -> roster.ready().size() >= engines, limit);
    }

    /** What happened since the start, counted. */
    public FleetCounters counters() {
        return counters;
    }

    Roster roster() {
        return roster;
    }

    Loading loading() {
        return loading;
    }

    ExecutorService tasks() {
        return tasks;
    }

    // Watching

    private void watch() {
        try {
            while (!closed) {
                roster.await(() -> closed, config.watchInterval());
                if (!closed) {
                    look();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** One look at everything: which engines there are, whether ready ones still hold what they must, who can be brought back. */
    void look() throws InterruptedException {
        try {
            discover();
        } catch (EngineException e) {
            LOG.warn("The list of engines could not be read, keeping the last: {}", e.getMessage());
        }
        roster.ready().forEach(e -> onEngine(e, () -> verify(e)));
        roster.dueForTending().forEach(this::tendSoon);
    }

    private void discover() throws EngineException, InterruptedException {
        Collection<URI> urls = discovery.engines(config.callDeadline());
        for (Engine joined : roster.membership(urls, url -> new SglangClient(http, url))) {
            LOG.info("Engine {} found", joined);
        }
    }

    /** A restarted engine has forgotten its adapters, and says so only when asked. */
    private void verify(Engine engine) throws InterruptedException {
        if (!config.keepsAdapters()) {
            return;
        }
        if (!engine.loads.tryLock()) {
            return;
        }
        try {
            roster.listed(engine, engine.client.adapters(config.callDeadline()));
            List<HeldVersion> missing = roster.missing(engine);
            if (!missing.isEmpty()) {
                roster.lost(engine, missing.getFirst().name());
            }
            keepListed(engine);
        } catch (EngineException e) {
            if (e.kind() == EngineException.Kind.UNREACHABLE || e.kind() == EngineException.Kind.TIMED_OUT) {
                setAside(engine, e.getMessage());
            }
        } finally {
            engine.loads.unlock();
        }
    }

    // Tending one engine

    private void tendSoon(Engine engine) {
        onEngine(engine, () -> tend(engine));
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    private void onEngine(Engine engine, Work work) {
        if (closed || !tending.add(engine)) {
            return;
        }
        tasks.submit(() -> {
            try {
                work.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                LOG.error("Looking after engine {} failed", engine, e);
            } finally {
                tending.remove(engine);
            }
            roster.afterTending(engine);
        });
    }

    /** Whatever its state calls for. */
    void tend(Engine engine) throws InterruptedException {
        switch (roster.state(engine)) {
            case JOINING, SUSPECT -> bringUp(engine);
            case OUT -> reviveIfRestarted(engine);
            case READY -> { }
        }
        if (roster.state(engine) == EngineState.READY) {
            unloadWhatNothingNeeds(engine);
        }
    }

    /** Looks at it, gives it what it lacks, proves each, lets it in. */
    private void bringUp(Engine engine) throws InterruptedException {
        try {
            inspect(engine);
            if (config.keepsAdapters()) {
                list(engine);
            }
        } catch (EngineException e) {
            setAside(engine, e.getMessage());
            return;
        }
        roster.answers(engine);
        while (!roster.admit(engine)) {
            List<HeldVersion> missing = config.keepsAdapters() ? roster.missing(engine) : List.of();
            if (missing.isEmpty() || !give(engine, missing.getFirst())) {
                return;
            }
        }
        LOG.info("Engine {} is ready", engine);
        register(engine);
    }

    /** What is on it, in between loads, so that the list is of one moment. */
    private void list(Engine engine) throws EngineException, InterruptedException {
        engine.loads.lockInterruptibly();
        try {
            roster.listed(engine, engine.client.adapters(config.callDeadline()));
        } finally {
            engine.loads.unlock();
        }
    }

    private void inspect(Engine engine) throws EngineException, InterruptedException {
        engine.client.health(config.loadDeadline());
        EngineFacts facts = Facts.ask(engine.client, config.callDeadline());
        if (config.publish() == FleetConfig.Publish.SLOT && !facts.inplaceUpsert()) {
            putOut(engine, "does not announce in-place upsert, which publish: slot needs; use publish: versioned");
            return;
        }
        roster.facts(engine, facts);
    }

    private boolean give(Engine engine, HeldVersion version) throws InterruptedException {
        return switch (loading.load(engine, version)) {
            case Loading.Outcome.Loaded(Canary.Verdict verdict) -> {
                counters.canary(verdict);
                if (!roster.requires(version.stamp())) {
                    roster.leftBehind(engine, version, Roster.Taint.CLEAN);
                }
                yield true;
            }
            case Loading.Outcome.Rejected(String reason) -> {
                counters.canaryRejected();
                putOut(engine, version.name() + ": " + reason);
                yield false;
            }
            case Loading.Outcome.Unfit(String reason) -> {
                putOut(engine, reason);
                yield false;
            }
            case Loading.Outcome.Failed(String reason) -> {
                setAside(engine, reason);
                yield false;
            }
            case Loading.Outcome.WentDown(String reason) -> {
                setAside(engine, reason);
                yield false;
            }
        };
    }

    private void reviveIfRestarted(Engine engine) throws InterruptedException {
        try {
            if (roster.restarted(engine, engine.client.adapters(config.callDeadline()))) {
                roster.rejoin(engine);
                bringUp(engine);
            } else {
                roster.pause(engine);
            }
        } catch (EngineException e) {
            roster.pause(engine);
        }
    }

    /** All that are due in one turn of the load lock: if each took a turn of its own, as many publishes would load faster than this unloads. */
    private void unloadWhatNothingNeeds(Engine engine) throws InterruptedException {
        engine.loads.lockInterruptibly();
        try {
            for (Optional<String> next = roster.nextUnload(engine); next.isPresent(); next = roster.nextUnload(engine)) {
                if (!unload(engine, next.get())) {
                    return;
                }
            }
        } finally {
            engine.loads.unlock();
        }
    }

    private boolean unload(Engine engine, String name) throws InterruptedException {
        try {
            engine.client.unloadAdapter(name, config.unloadDeadline());
            counters.unloaded();
            roster.unloaded(engine, name);
            return true;
        } catch (EngineException e) {
            if (e.kind() == EngineException.Kind.TIMED_OUT) {
                putOut(engine, "unloading " + name + " hangs, and with it every later load: restart this engine");
            } else {
                roster.unloaded(engine, name);
                setAside(engine, e.getMessage());
            }
            return false;
        }
    }

    // Engines coming and going, and the router's list

    void setAside(Engine engine, String reason) throws InterruptedException {
        if (roster.suspect(engine, reason)) {
            LOG.warn("Engine {} set aside: {}", engine, reason);
            unregister(engine);
        }
    }

    void putOut(Engine engine, String reason) throws InterruptedException {
        LOG.error("Engine {} is out: {}", engine, reason);
        roster.out(engine, reason);
        unregister(engine);
    }

    /** For a wrong answer; the last ready engine stays, without the version it answers wrongly under. */
    void reject(Engine engine, String reason) throws InterruptedException {
        if (roster.reject(engine, reason)) {
            LOG.error("Engine {} is out: {}", engine, reason);
            unregister(engine);
        } else {
            LOG.error("Engine {} answers wrongly but is the last: {}", engine, reason);
        }
    }

    private void register(Engine engine) throws InterruptedException {
        if (managed.isPresent()) {
            try {
                if (!managed.get().workers(config.callDeadline()).orElse(Map.of()).containsKey(engine.url())) {
                    managed.get().add(engine.url(), config.callDeadline());
                }
            } catch (EngineException e) {
                LOG.warn("The router could not be told of {}: {}", engine, e.getMessage());
            }
        }
    }

    /** A router that was restarted has to be told again of the engines that are ready. */
    private void keepListed(Engine engine) throws InterruptedException {
        if (managed.isPresent() && roster.state(engine) == EngineState.READY) {
            register(engine);
        }
    }

    private void unregister(Engine engine) throws InterruptedException {
        if (managed.isPresent()) {
            try {
                String id = managed.get().workers(config.callDeadline()).orElse(Map.of()).get(engine.url());
                if (id != null) {
                    managed.get().remove(id, config.callDeadline());
                }
            } catch (EngineException e) {
                LOG.warn("The router could not be told to drop {}: {}", engine, e.getMessage());
            }
        }
    }

    // What a request does that met an engine without its adapter

    /**
     * Makes every engine hold what it must: lists the adapters on each and loads what is missing. All who ask while one runs share it.
     */
    void reconcile() throws InterruptedException {
        Future<?> run;
        reconcileLock.lock();
        try {
            if (reconcile.isEmpty() || reconcile.get().isDone()) {
                counters.reconciled();
                reconcile = Optional.of(tasks.submit(this::reconcileAll));
            }
            run = reconcile.get();
        } finally {
            reconcileLock.unlock();
        }
        try {
            run.get();
        } catch (ExecutionException e) {
            LOG.error("Reconciling the engines failed", e.getCause());
        }
    }

    private void reconcileAll() {
        List<Future<?>> all = new ArrayList<>();
        for (Engine engine : roster.engines()) {
            all.add(tasks.submit(() -> {
                try {
                    list(engine);
                    roster.answers(engine);
                    for (HeldVersion version : roster.missing(engine)) {
                        if (!give(engine, version)) {
                            return;
                        }
                    }
                } catch (EngineException e) {
                    LOG.warn("Engine {} could not be reconciled: {}", engine, e.getMessage());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }));
        }
        for (Future<?> one : all) {
            try {
                one.get();
            } catch (ExecutionException e) {
                LOG.error("Reconciling an engine failed", e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        roster.close();
        tasks.shutdownNow();
        tasks.close();
    }
}
