package io.furlong.sglang;

import io.furlong.core.PolicyStamp;
import io.furlong.sglang.Engine.Holding;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * The books of the fleet: which engines there are, what each holds, what each has to hold, and who is on which. Does no I/O and never
 * blocks but in {@link #lease}, which waits for an engine that may take a request.
 *
 * <p>Invariants. An engine is READY only while it holds every required version. A request goes only to a READY engine that holds its
 * version. A version is handed out for unloading only when nothing requires it, no request is on it, and none ever ended on it in a way
 * that may have leaked the server's count. The last READY engine is never set aside for a wrong answer.
 *
 * <p>One lock guards it all, the {@link Engine}s included; every method holds it for a few map look-ups.
 */
final class Roster {
    private static final int REMEMBERED_GROUPS = 1 << 14;
    private static final int REMEMBERED_ENGINES = 1 << 10;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final FleetConfig config;
    private final InstantSource time;
    private final Map<URI, Engine> engines = new LinkedHashMap<>();
    private final Map<URI, Engine> departed = new LinkedHashMap<>(16, 0.75f, false) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<URI, Engine> eldest) {
            return size() > REMEMBERED_ENGINES;
        }
    };
    private final Map<String, HeldVersion> required = new LinkedHashMap<>();
    /** Behind a router nobody knows which engine had a request: use and taint count for all. */
    private final Map<String, Holding> anywhere = new LinkedHashMap<>();
    private final Map<String, Engine> homes = new LinkedHashMap<>(64, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Engine> eldest) {
            return size() > REMEMBERED_GROUPS;
        }
    };
    /** Told, under the lock, of each engine that has something to be done on it; must not block. */
    private final Consumer<Engine> needsTending;
    private boolean closed;

    Roster(FleetConfig config, InstantSource time, Consumer<Engine> needsTending) {
        this.config = config;
        this.time = time;
        this.needsTending = needsTending;
    }

    // Membership

    /**
     * Makes the set of engines this one: new ones join, missing ones leave. What is known of one that left is kept, since lists of engines
     * are incomplete for a while after a router's restart, and an adapter's taint must not be forgotten.
     */
    List<Engine> membership(Collection<URI> urls, java.util.function.Function<URI, SglangClient> clients) {
        return locked(() -> {
            for (Engine engine : List.copyOf(engines.values())) {
                if (!urls.contains(engine.url())) {
                    engines.remove(engine.url());
                    departed.put(engine.url(), engine);
                    if (engine.state != EngineState.OUT) {
                        move(engine, EngineState.JOINING, "not listed any more");
                    }
                }
            }
            homes.values().removeIf(e -> !engines.containsKey(e.url()));
            List<Engine> joined = new ArrayList<>();
            for (URI url : urls) {
                if (!engines.containsKey(url)) {
                    Engine known = departed.remove(url);
                    Engine engine = known != null ? known
                            : new Engine(clients.apply(url), new CircuitBreaker(config.failuresToSuspect(), config.firstPause(), config.longestPause()));
                    engines.put(url, engine);
                    joined.add(engine);
                }
            }
            return joined;
        });
    }

    List<Engine> engines() {
        return locked(() -> List.copyOf(engines.values()));
    }

    List<Engine> ready() {
        return locked(() -> engines.values().stream().filter(e -> e.state == EngineState.READY).toList());
    }

    /** Engines that wait for something which time or a look at them may have brought. */
    List<Engine> dueForTending() {
        Instant now = time.instant();
        return locked(() -> engines.values().stream()
                .filter(e -> e.state != EngineState.READY ? e.breaker.permits(now) : e.holdings.values().stream().anyMatch(h -> unloadable(e, h)))
                .toList());
    }

    List<EngineView> views() {
        return locked(() -> engines.values().stream().map(Engine::view).toList());
    }

    // Requests

    /** A place on an engine, or behind the router, for one request. */
    static final class Lease {
        final Optional<Engine> engine;
        final SglangClient client;
        final String servedName;

        private Lease(Optional<Engine> engine, SglangClient client, String servedName) {
            this.engine = engine;
            this.client = client;
            this.servedName = servedName;
        }
    }

    /**
     * Waits for an engine that may take a request under this name. Requests of one group go to one engine while that is possible, others
     * to the one with the fewest in flight.
     *
     * @param wanted asked again after every wait
     * @return empty when the time is over or the request is not wanted any more
     */
    Optional<Lease> lease(String servedName, String group, Duration limit, BooleanSupplier wanted) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (wanted.getAsBoolean() && !closed) {
                if (config.router().isPresent()) {
                    holdingAnywhere(servedName).inFlight++;
                    return Optional.of(new Lease(Optional.empty(), config.router().get(), servedName));
                }
                Optional<Engine> engine = choose(servedName, group);
                if (engine.isPresent()) {
                    engine.get().inFlight++;
                    holding(engine.get(), servedName).ifPresent(h -> h.inFlight++);
                    return Optional.of(new Lease(engine, engine.get().client, servedName));
                }
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return Optional.empty();
                }
                changed.awaitNanos(left);
            }
            return Optional.empty();
        } finally {
            lock.unlock();
        }
    }

    private Optional<Engine> choose(String servedName, String group) {
        Engine home = homes.get(group);
        if (home != null && takes(home, servedName)) {
            return Optional.of(home);
        }
        Optional<Engine> least = engines.values().stream().filter(e -> takes(e, servedName)).min(Comparator.comparingInt(e -> e.inFlight));
        least.ifPresent(e -> homes.put(group, e));
        return least;
    }

    private boolean takes(Engine engine, String servedName) {
        return engine.state == EngineState.READY && (!config.keepsAdapters() || engine.holdings.containsKey(servedName));
    }

    /** Books how a leased request ended. Called exactly once a lease. */
    void settle(Lease lease, Ending ending) {
        lockedRun(() -> {
            if (lease.engine.isEmpty()) {
                Holding use = holdingAnywhere(lease.servedName);
                use.inFlight--;
                use.tainted |= ending.tainting();
                engines.values().forEach(e -> tendIfUnloadable(e, lease.servedName));
                return;
            }
            Engine engine = lease.engine.get();
            engine.inFlight--;
            holding(engine, lease.servedName).ifPresent(h -> {
                h.inFlight--;
                h.tainted |= taints(engine, ending);
            });
            health(engine, ending);
            tendIfUnloadable(engine, lease.servedName);
        });
    }

    private static boolean taints(Engine engine, Ending ending) {
        return ending.tainting() && mayLeak(engine);
    }

    private void health(Engine engine, Ending ending) {
        switch (ending.health()) {
            case GOOD -> {
                if (engine.state == EngineState.READY) {
                    engine.breaker.succeeded();
                }
            }
            case NEUTRAL -> { }
            case BAD -> {
                if (engine.state == EngineState.READY && engine.breaker.failed(time.instant())) {
                    move(engine, EngineState.SUSPECT, "requests fail: " + ending);
                }
            }
        }
    }

    /** The engine says that it has no such adapter, so it has been restarted: it has to get everything again. */
    void lost(Engine engine, String servedName) {
        lockedRun(() -> {
            engine.holdings.remove(servedName);
            if (engine.state == EngineState.READY && required.containsKey(servedName)) {
                move(engine, EngineState.JOINING, "lost adapter " + servedName);
                needsTending.accept(engine);
            }
        });
    }

    /** Wakes everyone who waits, to ask again whether the request is wanted. */
    void wake() {
        lockedRun(changed::signalAll);
    }

    // What engines hold and must hold

    List<HeldVersion> required() {
        return locked(() -> List.copyOf(required.values()));
    }

    boolean requires(PolicyStamp stamp) {
        return locked(() -> Optional.ofNullable(required.get(stamp.servedName())).filter(v -> v.stamp().equals(stamp)).isPresent());
    }

    /** Whether some version of this registration is in force or pinned. */
    boolean knows(io.furlong.core.RegistrationId registration) {
        return locked(() -> required.values().stream().anyMatch(v -> v.stamp().registration().equals(registration)));
    }

    /** What {@code engine} has to be given before it can be ready, oldest first. */
    List<HeldVersion> missing(Engine engine) {
        return locked(() -> required.values().stream().filter(v -> !holds(engine, v)).toList());
    }

    /** From now on the version is needed everywhere; ready engines that lack it are ready no more. */
    void bringIntoForce(HeldVersion version) {
        lockedRun(() -> {
            required.put(version.name(), version);
            for (Engine engine : engines.values()) {
                if (engine.state == EngineState.READY && !holds(engine, version)) {
                    move(engine, EngineState.JOINING, "does not hold " + version.name());
                    needsTending.accept(engine);
                }
            }
        });
    }

    /** Nothing needs the version any more. In slot mode the name lives on under a newer version. */
    void dismiss(PolicyStamp stamp) {
        lockedRun(() -> {
            required.computeIfPresent(stamp.servedName(), (name, v) -> v.stamp().equals(stamp) ? null : v);
            departed.values().forEach(e -> dismissOn(e, stamp));
            for (Engine engine : engines.values()) {
                dismissOn(engine, stamp);
                settleLeaks(engine);
                tendIfUnloadable(engine, stamp.servedName());
            }
        });
    }

    private static void dismissOn(Engine engine, PolicyStamp stamp) {
        holding(engine, stamp.servedName()).filter(h -> h.version.map(v -> v.stamp().equals(stamp)).orElse(false)).ifPresent(h -> h.dismissed = true);
    }

    void loaded(Engine engine, HeldVersion version, Taint taint) {
        lockedRun(() -> {
            Holding holding = new Holding(Optional.of(version));
            holding.tainted = taint == Taint.TAINTED && mayLeak(engine);
            Holding before = engine.holdings.put(version.name(), holding);
            if (before != null) {
                holding.inFlight = before.inFlight;
                holding.tainted |= before.tainted;
            }
            changed.signalAll();
        });
    }

    /**
     * The adapter is, or may be, on the engine though nothing needs it: a load that failed or was rejected, a version that came into force
     * nowhere. Where the name itself is needed, in slot mode, the engine has to be given the right weights again.
     */
    void leftBehind(Engine engine, HeldVersion version, Taint taint) {
        lockedRun(() -> {
            if (required.containsKey(version.name())) {
                engine.holdings.remove(version.name());
                if (engine.state == EngineState.READY) {
                    move(engine, EngineState.JOINING, "has weights of " + version.name() + " that are not in force");
                    needsTending.accept(engine);
                }
                return;
            }
            Holding holding = engine.holdings.computeIfAbsent(version.name(), n -> new Holding(Optional.of(version)));
            holding.dismissed = true;
            holding.tainted |= taint == Taint.TAINTED && mayLeak(engine);
            settleLeaks(engine);
            tendIfUnloadable(engine, version.name());
        });
    }

    /** Whether the server's count of an adapter's users may have leaked. */
    enum Taint { CLEAN, TAINTED }

    /**
     * Compares with what the engine lists: what is gone is gone, with its taint; what an earlier process of ours left behind is booked as
     * tainted, since that one's requests may have been cut off; the embedded engine is rid of it at once.
     */
    void listed(Engine engine, Map<String, String> pathByName) {
        lockedRun(() -> {
            engine.holdings.keySet().removeIf(name -> !pathByName.containsKey(name));
            pathByName.forEach((name, path) -> {
                HeldVersion version = required.get(name);
                boolean ours = version != null && version.path().toString().equals(path);
                if (!engine.holdings.containsKey(name) && !ours && Names.ours(name)) {
                    Holding foreign = new Holding(Optional.empty());
                    foreign.tainted = mayLeak(engine);
                    foreign.dismissed = true;
                    engine.holdings.put(name, foreign);
                }
            });
            settleLeaks(engine);
        });
    }

    /** True when the engine no longer lists anything that it held: it has been restarted. */
    boolean restarted(Engine engine, Map<String, String> pathByName) {
        return locked(() -> !engine.holdings.isEmpty() && engine.holdings.keySet().stream().noneMatch(pathByName::containsKey));
    }

    /** Takes the next adapter that may be unloaded; {@link #unloaded} or {@link #out} must follow. */
    Optional<String> nextUnload(Engine engine) {
        return locked(() -> engine.holdings.entrySet().stream().filter(e -> unloadable(engine, e.getValue())).findFirst().map(e -> {
            e.getValue().unloading = true;
            return e.getKey();
        }));
    }

    void unloaded(Engine engine, String name) {
        lockedRun(() -> {
            engine.holdings.remove(name);
            if (engines.values().stream().noneMatch(e -> e.holdings.containsKey(name))) {
                anywhere.remove(name);
            }
            changed.signalAll();
        });
    }

    private boolean unloadable(Engine engine, Holding holding) {
        Holding shared = holding.version.map(v -> anywhere.get(v.name())).orElse(null);
        boolean busyAnywhere = shared != null && (shared.inFlight > 0 || shared.tainted);
        return holding.dismissed && !holding.tainted && !holding.unloading && holding.inFlight == 0 && !busyAnywhere
                && engine.state != EngineState.OUT;
    }

    /** One that was set aside is left in peace until it is looked at again. */
    private void tendIfUnloadable(Engine engine, String name) {
        if (engine.state != EngineState.SUSPECT) {
            holding(engine, name).filter(h -> unloadable(engine, h)).ifPresent(h -> needsTending.accept(engine));
        }
    }

    private void settleLeaks(Engine engine) {
        if (engine.leaked() > config.maxLeakedLoras() && engine.state != EngineState.OUT) {
            move(engine, EngineState.OUT, engine.leaked() + " adapters can't be unloaded (max_leaked_loras " + config.maxLeakedLoras() + "): restart this engine");
        }
    }

    private boolean holds(Engine engine, HeldVersion version) {
        return holding(engine, version.name()).flatMap(h -> h.version).filter(version::same).isPresent();
    }

    /** The embedded engine keeps its counts right. */
    private static boolean mayLeak(Engine engine) {
        return !engine.facts.map(EngineFacts::embedded).orElse(false);
    }

    private static Optional<Holding> holding(Engine engine, String name) {
        return Optional.ofNullable(engine.holdings.get(name));
    }

    private Holding holdingAnywhere(String name) {
        return anywhere.computeIfAbsent(name, n -> new Holding(Optional.empty()));
    }

    // States

    /** Of every engine that has said what it is. */
    List<EngineFacts> facts() {
        return locked(() -> engines.values().stream().flatMap(e -> e.facts.stream()).toList());
    }

    void facts(Engine engine, EngineFacts facts) {
        lockedRun(() -> engine.facts = Optional.of(facts));
    }

    void measured(Engine engine, Optional<NoiseFloor> noise, double gap) {
        lockedRun(() -> {
            noise.ifPresent(n -> engine.noise = Optional.of(engine.noise.map(n::louder).orElse(n)));
            engine.canaryGap = java.util.OptionalDouble.of(gap);
        });
    }

    /** The engine's own noise; before it was measured, the loudest that others of the fleet have. */
    NoiseFloor noise(Engine engine) {
        return locked(() -> engine.noise.or(() -> engines.values().stream().flatMap(e -> e.noise.stream()).reduce(NoiseFloor::louder)).orElse(NoiseFloor.UNMEASURED));
    }

    EngineState state(Engine engine) {
        return locked(() -> engine.state);
    }

    /** Signals that came while the engine was being tended are acted on now. */
    void afterTending(Engine engine) {
        lockedRun(() -> {
            boolean work = switch (engine.state) {
                case JOINING -> engine.breaker.permits(time.instant());
                case READY -> engine.holdings.values().stream().anyMatch(h -> unloadable(engine, h));
                case SUSPECT, OUT -> false;
            };
            if (work && engines.containsValue(engine)) {
                needsTending.accept(engine);
            }
        });
    }

    /** One that was set aside answers again: it catches up. */
    void answers(Engine engine) {
        lockedRun(() -> {
            if (engine.state == EngineState.SUSPECT) {
                move(engine, EngineState.JOINING, "catches up");
            }
        });
    }

    /** Not yet: look again later. */
    void pause(Engine engine) {
        lockedRun(() -> engine.breaker.open(time.instant()));
    }

    /** @return false when something is missing after all, which came into force meanwhile, or when it was set aside meanwhile */
    boolean admit(Engine engine) {
        return locked(() -> {
            if (engine.state == EngineState.OUT || engine.state == EngineState.SUSPECT || required.values().stream().anyMatch(v -> !holds(engine, v))) {
                return false;
            }
            move(engine, EngineState.READY, "");
            return true;
        });
    }

    /** It has been restarted: begins anew, with empty books. */
    void rejoin(Engine engine) {
        lockedRun(() -> {
            engine.holdings.clear();
            engine.breaker.succeeded();
            move(engine, EngineState.JOINING, "restarted");
        });
    }

    /**
     * Sets it aside until its pause is over. What others find out meanwhile is no further fault: it neither lengthens the pause nor hides the
     * first reason.
     *
     * @return false if it was set aside, or out, already
     */
    boolean suspect(Engine engine, String reason) {
        return locked(() -> {
            Instant now = time.instant();
            if (engine.state == EngineState.OUT || engine.state == EngineState.SUSPECT && !engine.breaker.permits(now)) {
                return false;
            }
            engine.breaker.open(now);
            move(engine, EngineState.SUSPECT, reason);
            return true;
        });
    }

    void out(Engine engine, String reason) {
        lockedRun(() -> {
            engine.breaker.open(time.instant());
            move(engine, EngineState.OUT, reason);
        });
    }

    /** Sets an engine aside for a wrong answer, unless it is the last that is ready: then it stays, without this version. */
    boolean reject(Engine engine, String reason) {
        return locked(() -> {
            boolean last = engines.values().stream().noneMatch(e -> e != engine && e.state == EngineState.READY);
            if (last && engine.state == EngineState.READY) {
                return false;
            }
            engine.breaker.open(time.instant());
            move(engine, EngineState.OUT, reason);
            return true;
        });
    }

    private void move(Engine engine, EngineState to, String reason) {
        engine.state = to;
        engine.reason = reason;
        changed.signalAll();
    }

    /** Waits until {@code condition} holds or the time is over. */
    boolean await(BooleanSupplier condition, Duration limit) throws InterruptedException {
        long left = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (!condition.getAsBoolean()) {
                if (left <= 0 || closed) {
                    return false;
                }
                left = changed.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    void close() {
        lockedRun(() -> {
            closed = true;
            changed.signalAll();
        });
    }

    private <T> T locked(java.util.function.Supplier<T> body) {
        lock.lock();
        try {
            return body.get();
        } finally {
            lock.unlock();
        }
    }

    private void lockedRun(Runnable body) {
        lock.lock();
        try {
            body.run();
        } finally {
            lock.unlock();
        }
    }
}
