package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.AdapterState;
import io.furlong.core.Cursor;
import io.furlong.core.FinishReason;
import io.furlong.core.Group;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.Sample;
import io.furlong.core.TrainBatch;
import io.furlong.rollout.RolloutLimits.Schedule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a batch holds and when it goes, step by step, with groups that finish when the test says so. */
class BatchCollectorTest {
    private final TestRegistry registry = new TestRegistry();
    private final Pins pins = new Pins(stamp -> { });
    private final Map<String, Queue<Attempt>> admitted = new HashMap<>();
    private Streams streams;
    private Dispatcher dispatcher;
    private BatchCollector collector;
    private RequestLimit places;
    private Instant now = Instant.EPOCH;

    @BeforeEach
    void setUp() {
        start(1, Schedule.ASYNCHRONOUS);
    }

    private void start(int dataParallel, Schedule schedule) {
        RolloutLimits limits = new RolloutLimits(8, Duration.ofMillis(500), Duration.ofSeconds(30), 10_000, dataParallel, 3, 4,
                Duration.ofMinutes(1), schedule);
        streams = new Streams(a -> new AdapterStream(a, LedgerSnapshot.EMPTY, Cursor.START, new StreamFigures(() -> now, 0, 0), limits,
                new AdapterStream.Surroundings() {
                    @Override
                    public void readRows(AdapterStream s) {
                        s.rowsRead(s.prompts().read(new ListSource(1000)));
                    }

                    @Override
                    public void changed(AdapterStream s) {
                        streams.changed(s);
                    }

                    @Override
                    public void fault(AdapterStream s, String reason) {}

                    @Override
                    public void retired(AdapterStream s) {}

                    @Override
                    public void closed(AdapterStream s) {}
                }), pins);
        streams.lock.lock();
        places = new RequestLimit(streams.lock, () -> 10_000, () -> { });
        dispatcher = new Dispatcher(streams, places, pins);
        collector = new BatchCollector(streams, limits);
        registry.onChange(s -> streams.apply(s));
        collector.begin(now);
    }

    private void admit() {
        for (Optional<Attempt> a = dispatcher.next(now); a.isPresent(); a = dispatcher.next(now)) {
            admitted.computeIfAbsent(a.get().stream.name(), k -> new ArrayDeque<>()).add(a.get());
        }
    }

    private void finish(String name, int groups) {
        admit();
        for (int i = 0; i < groups; i++) {
            finish(admitted.get(name).remove());
        }
    }

    private void finish(Attempt a) {
        List<Sample> samples = new ArrayList<>();
        for (int i = 0; i < a.stream.config().nSamplesPerPrompt(); i++) {
            samples.add(new Sample(i, a.prompt.tokenIds(), new int[1], new float[1], new byte[1], "", FinishReason.STOP, 1, i, a.stamp, List.of(), "e"));
        }
        places.release(a.reserved);
        pins.unpin(a.stamp);
        a.stream.finished(a, new Group(a.stream.name(), a.stream.registration(), a.dispatch, a.prompt, samples, a.stamp, a.stamp.step()), Map.of());
    }

    private Optional<Map<String, Integer>> batch() {
        return collector.poll(now, registry.snapshot()).map(BatchCollectorTest::counts);
    }

    private static Map<String, Integer> counts(TrainBatch b) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        b.byAdapter().forEach((name, groups) -> counts.put(name, groups.size()));
        return counts;
    }

    @Test
    void aFullBatchGoesAtOnceAPartialOneAfterTheWaitAndAnEmptyOneAfterTheTimeout() {
        registry.activate("a", Configs.basic().shape(16, 2).build());
        finish("a", 4);
        assertThat(batch()).contains(Map.of("a", 4));
        collector.begin(now);
        finish("a", 1);
        assertThat(batch()).isEmpty();
        assertThat(collector.wakeAt()).isEqualTo(now.plusMillis(500));
        now = now.plusMillis(499);
        finish("a", 1);
        assertThat(batch()).isEmpty();
        now = now.plusMillis(1);
        assertThat(batch()).contains(Map.of("a", 2));
        collector.begin(now);
        assertThat(collector.wakeAt()).isEqualTo(now.plusSeconds(30));
        now = now.plusSeconds(30);
        assertThat(batch()).contains(Map.of());
    }

    @Test
    void adaptersThatAreThereBeforeTheRegistrysFirstChangeAreSeen() {
        registry.startWith(TestRegistry.active("a", TestRegistry.registration("a", 1), Configs.basic().shape(2, 2).build(), 10));
        streams.apply(registry.snapshot());
        finish("a", 2);
        assertThat(batch()).contains(Map.of("a", 2));
    }

    @Test
    void aBatchGoesAtOnceWhenNobodyCouldAddToIt() {
        registry.activate("a", Configs.basic().shape(2, 2).build());
        finish("a", 2);
        TrainBatch b = collector.poll(now, registry.snapshot()).orElseThrow();
        assertThat(b.groups()).hasSize(2);
        assertThat(b.stepping()).containsExactly("a");
    }

    @Test
    void adaptersTakeTurnsByUnitAndWhoseTurnItIsSurvivesBatches() {
        for (String name : List.of("a", "b", "c")) {
            registry.activate(name, Configs.basic().shape(16, 2).build());
        }
        admit();
        for (String name : List.of("a", "b", "c")) {
            finish(name, 8);
        }
        assertThat(batch()).contains(Map.of("a", 2, "b", 1, "c", 1));
        assertThat(batch()).contains(Map.of("b", 2, "c", 1, "a", 1));
        assertThat(batch()).contains(Map.of("c", 2, "a", 1, "b", 1));
    }

    @Test
    void turnsFollowWeights() {
        registry.activate("light", Configs.basic().shape(32, 2).weight(1).build());
        registry.activate("heavy", Configs.basic().shape(32, 2).weight(3).build());
        finish("light", 20);
        finish("heavy", 20);
        Map<String, Integer> sum = new HashMap<>();
        for (int i = 0; i < 4; i++) {
            batch().orElseThrow().forEach((name, n) -> sum.merge(name, n, Integer::sum));
        }
        assertThat(sum).isEqualTo(Map.of("light", 4, "heavy", 12));
    }

    @Test
    void aPopIsAUnitThatSplitsEvenlyOverTheTrainersProcesses() {
        streams.lock.unlock();
        start(4, Schedule.ASYNCHRONOUS);
        registry.activate("a", Configs.basic().shape(8, 1).build());
        registry.activate("b", Configs.basic().shape(8, 2).build());
        finish("a", 3);
        finish("b", 1);
        now = now.plusSeconds(1);
        assertThat(batch()).isEmpty();
        finish("a", 1);
        finish("b", 2);
        assertThat(batch()).contains(Map.of("a", 4, "b", 2));
    }

    @Test
    void neverMoreThanTheNextStepLacksAndTheRestStaysForTheStepAfter() {
        var a = registry.activate("a", Configs.basic().shape(3, 2).staleness(2).build());
        finish("a", 9);
        TrainBatch first = collector.poll(now, registry.snapshot()).orElseThrow();
        assertThat(first.groups()).hasSize(3);
        assertThat(first.stepping()).containsExactly("a");
        collector.begin(now);
        now = now.plusSeconds(1);
        assertThat(batch()).as("nothing more before the step is taken").isEmpty();
        AdapterStream s = streams.find(a.registration()).orElseThrow();
        StepAccount account = s.prepareStep().orElseThrow();
        registry.step("a", 1);
        s.stepped(account);
        assertThat(batch()).contains(Map.of("a", 3));
    }

    @Test
    void aStepTakesGroupsInDispatchOrderHoweverTheyFinish() {
        registry.activate("a", Configs.basic().shape(4, 2).build());
        admit();
        List<Attempt> four = List.copyOf(admitted.get("a")).subList(0, 4);
        finish(four.get(3));
        finish(four.get(1));
        finish(four.get(2));
        now = now.plusSeconds(1);
        assertThat(batch()).as("the first is missing").isEmpty();
        finish(four.get(0));
        TrainBatch b = collector.poll(now, registry.snapshot()).orElseThrow();
        assertThat(b.groups().stream().map(Group::dispatch)).containsExactly(0L, 1L, 2L, 3L);
    }

    @Test
    void aRepeatedRowKeepsItsPlace() {
        registry.activate("a", Configs.basic().shape(4, 2).staleness(0).build());
        admit();
        List<Attempt> four = List.copyOf(admitted.get("a"));
        admitted.get("a").clear();
        finish(four.get(0));
        finish(four.get(2));
        finish(four.get(3));
        places.release(four.get(1).reserved);
        pins.unpin(four.get(1).stamp);
        four.get(1).stream.failed(four.get(1), "aborted", "aborted", AdapterStream.Blame.ENGINES, AdapterStream.Retry.AGAIN);
        assertThat(batch()).isEmpty();
        finish("a", 1);
        TrainBatch b = collector.poll(now, registry.snapshot()).orElseThrow();
        assertThat(b.groups().stream().map(g -> g.prompt().row())).containsExactly(0L, 1L, 2L, 3L);
        assertThat(b.groups().get(1).prompt().retries()).isEqualTo(1);
    }

    @Test
    void groupsOfAnAdapterThatRetiresWhileABatchIsPutTogetherAreLeftOut() {
        registry.activate("a", Configs.basic().shape(16, 2).build());
        registry.activate("b", Configs.basic().shape(16, 2).build());
        finish("a", 2);
        finish("b", 1);
        assertThat(batch()).isEmpty();
        registry.state("a", AdapterState.RETIRING);
        now = now.plusSeconds(1);
        assertThat(batch()).contains(Map.of("b", 1));
    }

    @Test
    void aDeterministicBatchHoldsWholeStepsAndWaitsForNothingMore() {
        streams.lock.unlock();
        start(1, Schedule.DETERMINISTIC);
        registry.activate("a", Configs.basic().shape(3, 2).staleness(2).build());
        registry.activate("b", Configs.basic().shape(4, 2).build());
        finish("a", 2);
        finish("b", 3);
        now = now.plusSeconds(10);
        assertThat(batch()).isEmpty();
        finish("a", 1);
        TrainBatch b = collector.poll(now, registry.snapshot()).orElseThrow();
        assertThat(counts(b)).isEqualTo(Map.of("a", 3));
        assertThat(b.stepping()).containsExactly("a");
        assertThat(admitted.get("a")).as("staleness is 0 here").isEmpty();
    }
}
