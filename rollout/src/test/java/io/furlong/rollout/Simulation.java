package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterState;
import io.furlong.core.Cursor;
import io.furlong.core.FinishReason;
import io.furlong.core.Group;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.Outcome;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.Sample;
import io.furlong.core.TrainBatch;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;

/**
 * Runs the real dispatcher, streams, pins and collector in virtual time against engines, a trainer and a publisher that take
 * random times and fail at random, and checks on every event what must always hold. Nothing waits, so a run is a pure function
 * of its seed.
 */
final class Simulation {
    /**
     * @param generationFails share of groups whose request fails
     * @param pushFails       share of publishes that fail and are tried again
     * @param vetoes          share of steps that are vetoed
     */
    record World(double meanTokens, double sigma, double secondsPerToken, double trainSeconds, double publishSeconds,
                 double generationFails, double pushFails, double vetoes, double rejections) {
        static World calm() {
            return new World(60, 1.0, 0.02, 1.0, 0.5, 0, 0, 0, 0);
        }
    }

    private record Event(Instant at, long order, Runnable what) {}

    /** What the last commit made durable. */
    private record Durable(StepAccount account) {}

    /** What the engine says made a group, and how old it was allowed to get when it was admitted. */
    private record Served(String digest, int maxStaleness) {}

    /** A trained group, and what the engine said it was made by. */
    record TrainedGroup(Group group, long step, String servedDigest) {}

    final TestRegistry registry = new TestRegistry();
    final Random random;
    final World world;
    final RolloutLimits limits;
    final int rows;
    final List<TrainedGroup> trained = new ArrayList<>();
    final List<TrainBatch> batches = new ArrayList<>();
    final Map<RegistrationId, LedgerSnapshot> lastLedgers = new LinkedHashMap<>();
    final Map<String, Map<Long, Set<Long>>> trainedRows = new HashMap<>();
    final Map<String, String> faults = new HashMap<>();
    Streams streams;
    private Pins pins;
    private RequestLimit requestLimit;
    private Dispatcher dispatcher;
    private BatchCollector collector;
    private final Map<RegistrationId, Durable> durable = new HashMap<>();
    private final Map<String, Long> versions = new HashMap<>();
    private final Map<String, String> loaded = new HashMap<>();
    private final Map<String, Long> stepOfDigest = new HashMap<>();
    private final Map<Group, Served> served = new IdentityHashMap<>();
    private final Map<RegistrationId, PolicyStamp> waitingPublish = new HashMap<>();
    private final Set<RegistrationId> publishing = new HashSet<>();
    private final PriorityQueue<Event> events = new PriorityQueue<>(Comparator.comparing(Event::at).thenComparingLong(Event::order));
    private final int places;
    private Instant now = Instant.EPOCH;
    private long order;
    private int life;
    private boolean training;
    private Instant askedAt = Instant.EPOCH;
    private Instant wakeSet = Instant.MAX;

    Simulation(long seed, World world, RolloutLimits limits, int places, int rows) {
        random = new Random(seed);
        this.world = world;
        this.limits = limits;
        this.places = places;
        this.rows = rows;
        boot();
        registry.onChange(s -> streams.apply(s));
    }

    private void boot() {
        life++;
        pins = new Pins(stamp -> loaded.remove(stamp.servedName()));
        int mine = life;
        streams = new Streams(a -> stream(a, mine), pins);
        streams.lock.lock();
        requestLimit = new RequestLimit(streams.lock, () -> places, streams.admissible::signal);
        dispatcher = new Dispatcher(streams, requestLimit, pins);
        collector = new BatchCollector(streams, limits);
        training = false;
        askedAt = now;
        collector.begin(now);
    }

    void register(String name, int number, AdapterConfig config, long targetStep) {
        RegistrationId id = TestRegistry.registration(name, number);
        PolicyStamp first = stamp(name, id, 0);
        load(first);
        registry.put(new Adapter(name, id, 0, AdapterState.ACTIVE, Optional.of(first), 0, targetStep, 0, config, ""));
    }

    private PolicyStamp stamp(String name, RegistrationId id, long step) {
        long version = versions.merge(id.hex(), 1L, Long::sum);
        PolicyStamp s = TestRegistry.stamp(name, id, version, step);
        stepOfDigest.put(s.digest(), step);
        return s;
    }

    private void load(PolicyStamp s) {
        loaded.put(s.servedName(), s.digest());
    }

    private AdapterStream stream(Adapter a, int inLife) {
        Optional<StepAccount> last = Optional.ofNullable(durable.get(a.registration())).map(Durable::account);
        ListSource source = new ListSource(rows);
        return new AdapterStream(a, last.map(l -> l.ledger().afterCrash()).orElse(LedgerSnapshot.EMPTY),
                last.map(StepAccount::cursor).orElse(Cursor.START), new StreamFigures(() -> now, 0, 0), limits,
                new AdapterStream.Surroundings() {
                    @Override
                    public void readRows(AdapterStream stream) {
                        at(0, () -> stream.rowsRead(stream.prompts().read(source)));
                    }

                    @Override
                    public void changed(AdapterStream stream) {
                        lastLedgers.put(stream.registration(), stream.ledger());
                        streams.changed(stream);
                    }

                    @Override
                    public void fault(AdapterStream stream, String reason) {
                        faults.put(stream.name(), reason);
                    }

                    @Override
                    public void retired(AdapterStream stream) {}

                    @Override
                    public void closed(AdapterStream stream) {}
                });
    }

    /** In {@code seconds}, unless the controller has crashed meanwhile. */
    void at(double seconds, Runnable what) {
        int mine = life;
        events.add(new Event(now.plusNanos((long) (seconds * 1e9)), order++, () -> {
            if (life == mine) {
                what.run();
            }
        }));
    }

    /** In {@code seconds}, come what may. */
    void always(double seconds, Runnable what) {
        events.add(new Event(now.plusNanos((long) (seconds * 1e9)), order++, what));
    }

    double exponential(double mean) {
        return -mean * Math.log(1 - random.nextDouble());
    }

    void run(Duration time) {
        Instant end = now.plus(time);
        pump();
        while (!events.isEmpty() && !events.peek().at().isAfter(end)) {
            Event e = events.poll();
            now = e.at();
            e.what().run();
            pump();
        }
        now = end;
    }

    private void pump() {
        for (Optional<Attempt> a = dispatcher.next(now); a.isPresent(); a = dispatcher.next(now)) {
            generate(a.get());
        }
        if (!training) {
            Optional<TrainBatch> batch = collector.poll(now, registry.snapshot());
            batch.ifPresent(this::train);
            if (batch.isEmpty() && !collector.wakeAt().equals(wakeSet)) {
                wakeSet = collector.wakeAt();
                at(Math.max(0, Duration.between(now, wakeSet).toNanos() / 1e9), () -> { });
            }
        }
    }

    private void generate(Attempt a) {
        Adapter view = registry.get(a.stream.name());
        assertThat(view.registration()).isEqualTo(a.stream.registration());
        assertThat(view.state()).isEqualTo(AdapterState.ACTIVE);
        assertThat(a.stamp).isEqualTo(view.inForce().orElseThrow());
        int n = view.config().nSamplesPerPrompt();
        int[] lengths = new int[n];
        int longest = 0;
        for (int i = 0; i < n; i++) {
            lengths[i] = Math.clamp((long) (world.meanTokens * Math.exp(world.sigma * random.nextGaussian() - world.sigma * world.sigma / 2)), 1, 4000);
            longest = Math.max(longest, lengths[i]);
        }
        boolean fails = random.nextDouble() < world.generationFails;
        at(longest * world.secondsPerToken * (fails ? random.nextDouble() : 1), () -> {
            String digest = loaded.get(a.stamp.servedName());
            assertThat(digest).as("a pinned version stays loaded until its group is made").isEqualTo(a.stamp.digest());
            requestLimit.release(a.reserved);
            pins.unpin(a.stamp);
            if (fails) {
                a.stream.failed(a, "aborted", "aborted", AdapterStream.Blame.ENGINES, AdapterStream.Retry.AGAIN);
                return;
            }
            Group g = group(a, lengths);
            served.put(g, new Served(digest, a.maxStaleness));
            Map<String, String> rejections = random.nextDouble() < world.rejections ? Map.of("zero_variance", "zero_variance") : Map.of();
            a.stream.finished(a, g, rejections);
        });
    }

    private static Group group(Attempt a, int[] lengths) {
        List<Sample> samples = new ArrayList<>();
        for (int i = 0; i < lengths.length; i++) {
            samples.add(new Sample(i, a.prompt.tokenIds(), new int[lengths[i]], new float[lengths[i]], new byte[lengths[i]], "", FinishReason.STOP,
                    1, i % 2, a.stamp, List.of(), "sim"));
        }
        return new Group(a.stream.name(), a.stream.registration(), a.dispatch, a.prompt, samples, a.stamp, a.stamp.step());
    }

    private void train(TrainBatch batch) {
        checkBatch(batch);
        batches.add(batch);
        if (batch.isEmpty()) {
            ask();
            return;
        }
        training = true;
        Map<String, RegistrationId> registrations = new HashMap<>();
        batch.groups().forEach(g -> registrations.put(g.adapter(), g.registration()));
        at(exponential(world.trainSeconds), () -> {
            training = false;
            batch.stepping().stream().sorted().forEach(name -> step(name, registrations.get(name)));
            ask();
        });
    }

    private void ask() {
        askedAt = now;
        wakeSet = Instant.MAX;
        collector.begin(now);
    }

    /** What the collector promises about every batch. */
    private void checkBatch(TrainBatch batch) {
        if (batch.isEmpty()) {
            assertThat(Duration.between(askedAt, now)).isGreaterThanOrEqualTo(limits.emptyBatchTimeout());
            return;
        }
        assertThat(batch.samples()).isLessThanOrEqualTo(Math.max(limits.globalBatchSize(), batch.groups().getFirst().samples().size()
                * AdapterStream.unit(registry.get(batch.groups().getFirst().adapter()).config(), limits)
                * (limits.schedule() == RolloutLimits.Schedule.DETERMINISTIC ? Integer.MAX_VALUE / 1_000_000 : 1)));
        batch.byAdapter().forEach((name, groups) -> {
            Adapter a = registry.snapshot().find(name).orElseThrow();
            assertThat(a.state().sampleable()).isTrue();
            assertThat(groups).allSatisfy(g -> assertThat(g.registration()).isEqualTo(a.registration()));
            assertThat(groups.size() % AdapterStream.unit(a.config(), limits)).isZero();
            long inStep = streams.find(a.registration()).orElseThrow().ledger().training();
            assertThat(inStep).as("never more than a step lacks").isLessThanOrEqualTo(a.config().rolloutBatchSize());
            assertThat(batch.stepping().contains(name)).isEqualTo(inStep == a.config().rolloutBatchSize());
        });
    }

    private void step(String name, RegistrationId id) {
        Optional<AdapterStream> stream = streams.find(id);
        boolean current = registry.snapshot().find(name, id).filter(a -> a.state().sampleable()).isPresent();
        Optional<StepAccount> account = stream.flatMap(AdapterStream::prepareStep);
        assertThat(account.isPresent()).as("a step exactly for who is still registered and has not rolled back")
                .isEqualTo(current && stream.orElseThrow().ledger().training() > 0);
        if (account.isEmpty()) {
            return;
        }
        assertThat(account.get().groups()).hasSize(stream.orElseThrow().config().rolloutBatchSize());
        if (random.nextDouble() < world.vetoes) {
            stream.orElseThrow().notStepped(new Outcome.Failed("veto"));
            return;
        }
        StepAccount a = account.get();
        checkAccount(name, id, a);
        durable.put(id, new Durable(a));
        registry.step(name, a.step());
        stream.orElseThrow().stepped(a);
        publish(name, stamp(name, id, a.step()));
    }

    private void checkAccount(String name, RegistrationId id, StepAccount a) {
        Cursor c = a.cursor();
        assertThat(c.finished() + c.open().size()).as("every row handed out is finished or open, once")
                .isEqualTo((long) c.epoch() * rows + c.position());
        assertThat(a.step()).isEqualTo(registry.get(name).step() + 1);
        for (Group g : a.groups()) {
            Served by = served.get(g);
            long age = a.step() - 1 - stepOfDigest.get(by.digest());
            assertThat(age).as("age by what the engine served").isBetween(0L, (long) by.maxStaleness());
            assertThat(g.ageAt(a.step() - 1)).isEqualTo(age);
            assertThat(trainedRows.computeIfAbsent(id.hex(), k -> new HashMap<>()).computeIfAbsent((long) g.prompt().epoch(), k -> new HashSet<>())
                    .add(g.prompt().row())).as("no row is trained twice in a pass").isTrue();
            trained.add(new TrainedGroup(g, a.step(), by.digest()));
        }
    }

    /** Serial for each registration; a waiting push is replaced by the newest; a failed one is tried again. */
    private void publish(String name, PolicyStamp stamp) {
        if (!publishing.add(stamp.registration())) {
            waitingPublish.put(stamp.registration(), stamp);
            return;
        }
        at(exponential(world.publishSeconds), () -> {
            publishing.remove(stamp.registration());
            Optional<PolicyStamp> newer = Optional.ofNullable(waitingPublish.remove(stamp.registration()));
            if (registry.snapshot().find(name, stamp.registration()).filter(a -> a.state().sampleable()).isEmpty()) {
                return;
            }
            if (random.nextDouble() < world.pushFails) {
                publish(name, newer.orElse(stamp));
                return;
            }
            load(stamp);
            registry.inForce(name, stamp);
            newer.ifPresent(n -> publish(name, n));
        });
    }

    /** The controller dies and comes back: what was committed is there, the last version is pushed again, the engines never noticed. */
    void crash() {
        streams.lock.unlock();
        publishing.clear();
        waitingPublish.clear();
        served.clear();
        wakeSet = Instant.MAX;
        boot();
        for (Adapter a : registry.snapshot().all()) {
            if (a.stepInForce() != a.step()) {
                PolicyStamp s = stamp(a.name(), a.registration(), a.step());
                load(s);
                registry.inForce(a.name(), s);
            } else {
                load(a.inForce().orElseThrow());
            }
        }
        streams.apply(registry.snapshot());
    }

    /** Goes back to step {@code step} under a new version. */
    void rollBack(String name, long step) {
        Adapter a = registry.get(name);
        PolicyStamp s = stamp(name, a.registration(), step);
        load(s);
        waitingPublish.remove(a.registration());
        registry.put(new Adapter(name, a.registration(), a.slot(), a.state(), Optional.of(s), step, a.targetStep(), 0, a.config(), ""));
    }

    /** Names that may be sampled now. */
    List<String> live() {
        return registry.snapshot().all().stream().filter(a -> a.state().sampleable()).map(Adapter::name).toList();
    }
}
