package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterState;
import io.furlong.core.Cursor;
import io.furlong.core.EvalConfig;
import io.furlong.core.Group;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Sample;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplerException.Kind;
import io.furlong.core.Seeds;
import io.furlong.core.TrainBatch;
import io.furlong.rollout.RecordingSampler.Sent;
import io.furlong.rollout.RolloutLimits.Schedule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RolloutTest {
    private static final RolloutLimits LIMITS = RolloutFixture.limits(32, Schedule.ASYNCHRONOUS);

    @Test
    void everyRequestHasTheAdapterTheVersionInForceWhenItsGroupWasAdmittedAndItsOwnSeed() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            f.registry.activate("a", Configs.basic().shape(4, 4).build());
            f.registry.activate("b", Configs.basic().shape(8, 2).staleness(0).build());
            f.trainUntil("a", 10);
            f.trainUntil("b", 5);
            f.end();
            assertThat(f.sampler.complaints).isEmpty();
            Set<Long> seeds = new HashSet<>();
            for (Sent s : f.sampler.sent) {
                assertThat(s.stamp().registration()).isEqualTo(f.registry.get(s.adapter()).registration());
                assertThat(s.stamp().extraKey(s.adapter())).isEqualTo(s.adapter() + "." + s.stamp().registration().hex() + ":v" + s.stamp().version());
                assertThat(s.stamp().servedName()).startsWith(s.adapter() + ".");
                assertThat(seeds.add(s.seed())).as("seeds differ").isTrue();
            }
            for (StepAccount step : f.steps.get("a")) {
                for (Group g : step.groups()) {
                    assertThat(g.ageAt(step.step() - 1)).isBetween(0L, 1L);
                    for (Sample s : g.samples()) {
                        assertThat(s.engine()).isEqualTo("engine of v" + g.stamp().version());
                        assertThat(s.text()).isEqualTo(g.prompt().label());
                        assertThat(s.reward()).isEqualTo(1);
                    }
                }
            }
            assertThat(f.steps.get("b")).allSatisfy(step -> assertThat(step.maxAge()).isZero());
        }
    }

    @Test
    void seedsComeFromNamesAndNumbersAlone() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            f.registry.activate("a", Configs.basic().shape(4, 2).build());
            f.trainUntil("a", 1);
            Set<Long> expected = new HashSet<>();
            for (Group g : f.steps.get("a").getFirst().groups()) {
                expected.add(Seeds.sample(42, "a", g.prompt(), 0, 0));
                expected.add(Seeds.sample(42, "a", g.prompt(), 1, 0));
            }
            assertThat(f.sampler.sent.stream().map(Sent::seed)).containsAll(expected);
        }
    }

    @Test
    void nothingIsSentForAnAdapterOnceItIsDeregisteredAndWhatWasOpenEndsRetired() throws Exception {
        Semaphore answers = new Semaphore(0);
        try (RolloutFixture f = new RolloutFixture((r, n) -> {
            if (r.adapter().equals("leaving")) {
                answers.acquire();
            }
            return RecordingSampler.RIGHT.answer(r, n);
        }, LIMITS, 40)) {
            Adapter leaving = f.registry.activate("leaving", Configs.basic().shape(2, 4).build());
            f.registry.activate("staying", Configs.basic().shape(4, 2).build());
            f.trainUntil("staying", 2);
            f.registry.state("leaving", AdapterState.RETIRING);
            f.sampler.gone.add(leaving.registration());
            answers.release(1000);
            LedgerSnapshot last = f.rollout.awaitEnded(leaving.registration(), Duration.ofSeconds(10)).orElseThrow();
            assertThat(last.open()).isZero();
            assertThat(last.retired()).isEqualTo(last.dispatched()).isPositive();
            assertThat(f.sampler.aborted).contains(leaving.registration());
            f.registry.remove("leaving");
            Adapter again = f.registry.activate("leaving", Configs.basic().shape(4, 2).build());
            f.trainUntil("leaving", 2);
            assertThat(f.steps.get("leaving")).allSatisfy(s -> assertThat(s.registration()).isEqualTo(again.registration()));
            assertThat(f.sampler.complaints).isEmpty();
        }
    }

    @Test
    void aCallThatNeverReturnsIsWrittenOffAtTheDeadline() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        try (RolloutFixture f = new RolloutFixture((r, n) -> {
            called.countDown();
            while (true) {
                try {
                    never.await();
                    return "x";
                } catch (InterruptedException e) {
                    continue;
                }
            }
        }, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(1, 1).staleness(0).build());
            called.await();
            f.registry.state("a", AdapterState.RETIRING);
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), Duration.ofMillis(50)).orElseThrow();
            assertThat(last.retired()).isEqualTo(1);
            assertThat(last.open()).isZero();
            never.countDown();
        }
    }

    @Test
    void aGroupWhoseAdapterRetiresBetweenCollectionAndCommitIsRetired() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).staleness(0).build());
            TrainBatch batch = f.rollout.collect();
            assertThat(batch.groups()).isNotEmpty();
            f.registry.state("a", AdapterState.RETIRING);
            assertThat(f.rollout.prepareStep(a.registration())).isEmpty();
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), Duration.ofSeconds(5)).orElseThrow();
            assertThat(last.trained()).isZero();
            assertThat(last.retired()).isEqualTo(last.dispatched());
        }
    }

    @Test
    void aStepThatIsCommittedWhileItsAdapterRetiresCounts() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).staleness(0).build());
            while (!f.rollout.collect().stepping().contains("a")) {
                assertThat(f.faults).isEmpty();
            }
            StepAccount account = f.rollout.prepareStep(a.registration()).orElseThrow();
            f.registry.state("a", AdapterState.RETIRING);
            f.rollout.stepped(account);
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), Duration.ofSeconds(5)).orElseThrow();
            assertThat(last).isEqualTo(account.ledger());
            assertThat(last.trained()).isEqualTo(4);
        }
    }

    @Test
    void aStepThatIsCommittedWhileTheRolloutClosesCounts() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).staleness(0).build());
            while (!f.rollout.collect().stepping().contains("a")) {
                assertThat(f.faults).isEmpty();
            }
            StepAccount account = f.rollout.prepareStep(a.registration()).orElseThrow();
            f.end();
            f.rollout.stepped(account);
            assertThat(f.rollout.ledger(a.registration())).contains(account.ledger());
        }
    }

    @Test
    void aPausedAdapterIsAdmittedNothingNew() throws Exception {
        Semaphore answers = new Semaphore(0);
        CountDownLatch called = new CountDownLatch(8);
        try (RolloutFixture f = new RolloutFixture((r, n) -> {
            called.countDown();
            answers.acquire();
            return RecordingSampler.RIGHT.answer(r, n);
        }, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(8, 1).staleness(0).build());
            called.await();
            f.registry.state("a", AdapterState.PAUSED);
            answers.release(1000);
            f.trainUntil("a", 1); // what was running finishes, and the step it completes is taken
            assertThat(f.rollout.ledger(a.registration()).orElseThrow().dispatched()).isEqualTo(8);
            f.registry.state("a", AdapterState.ACTIVE);
            f.trainUntil("a", 2);
        }
    }

    @Test
    void aVersionIsReleasedOnceWhenItIsNeitherInForceNorPinned() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).staleness(1).build());
            PolicyStamp first = a.inForce().orElseThrow();
            Rollout.Pin pin = f.rollout.pin(first);
            f.trainUntil("a", 8);
            assertThat(f.released).doesNotContain(first);
            pin.close();
            f.registry.state("a", AdapterState.RETIRING);
            f.rollout.awaitEnded(a.registration(), Duration.ofSeconds(5));
            f.end();
            assertThat(f.released).doesNotHaveDuplicates().hasSize(9);
            assertThat(f.released.indexOf(first)).isPositive();
            assertThatThrownBy(() -> f.rollout.pin(first)).hasMessageContaining("not in force");
        }
    }

    @Test
    void theSharedLimitHoldsForTrainingAndEvaluationTogether() throws Exception {
        RolloutLimits tight = new RolloutLimits(32, Duration.ofMillis(20), Duration.ofSeconds(20), 10, 1, 3, 4, Duration.ofSeconds(10), Schedule.ASYNCHRONOUS);
        try (RolloutFixture f = new RolloutFixture((r, n) -> {
            Thread.yield();
            return RecordingSampler.RIGHT.answer(r, n);
        }, tight, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 16).build());
            f.registry.activate("b", Configs.basic().shape(4, 3).build());
            f.trainUntil("a", 3);
            PolicyStamp stamp = f.registry.get("a").inForce().orElseThrow();
            Evaluation e = f.rollout.evaluate(a.registration(), stamp, new EvalConfig(Path.of("held-out.jsonl"), 0, 25, 4));
            f.trainUntil("b", 3);
            assertThat(e.rows()).isEqualTo(25);
            assertThat(f.sampler.mostInFlight.get()).isBetween(2, 10);
        }
    }

    @Test
    void anEvaluationIsGreedyAndSampledUnderOneVersion() throws Exception {
        try (RolloutFixture f = new RolloutFixture((r, n) -> r.sampling().temperature() == 0 ? RecordingSampler.RIGHT.answer(r, n)
                : r.seed() % 2 == 0 ? "wrong" : RecordingSampler.RIGHT.answer(r, n), LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(1, 1).staleness(0).build());
            Evaluation e = f.rollout.evaluate(a.registration(), a.inForce().orElseThrow(), new EvalConfig(Path.of("held-out.jsonl"), 0, 200, 4));
            assertThat(e.rows()).isEqualTo(40);
            assertThat(e.greedyAccuracy()).isEqualTo(1);
            assertThat(e.sampledAccuracy()).isBetween(0.3, 0.7);
            assertThat(f.sampler.sent.stream().filter(s -> s.temperature() == 0)).hasSize(40);
        }
    }

    @Test
    void ledgersAddUpAtEveryInstantWhateverFails() throws Exception {
        AtomicInteger reads = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        try (RolloutFixture f = new RolloutFixture((r, n) -> switch (n % 23) {
            case 3 -> throw new SamplerException(Kind.ABORTED, "aborted");
            case 7 -> throw new SamplerException(Kind.MALFORMED, "no log-probs");
            case 11 -> throw new SamplerException(Kind.REJECTED, "prompt too long");
            case 13 -> throw new IllegalStateException("broken");
            default -> n % 3 == 0 ? "wrong" : RecordingSampler.RIGHT.answer(r, n);
        }, LIMITS, 40)) {
            List<Adapter> adapters = new ArrayList<>();
            for (String name : List.of("a", "b", "c")) {
                adapters.add(f.registry.activate(name, Configs.basic().shape(4, 2).filter("zero_variance", 2).build()));
            }
            adapters.add(f.registry.activate("flaky", Configs.basic().shape(4, 2).reward(OwnRewards.config("Flaky", Duration.ofSeconds(5))).build()));
            Thread reader = Thread.ofPlatform().start(() -> {
                while (!over.get()) { // a snapshot that doesn't add up can't be built: reading is enough to have it checked
                    for (Adapter a : adapters) {
                        f.rollout.ledger(a.registration()).ifPresent(l -> reads.addAndGet(l.dispatched() >= l.open() ? 1 : 0));
                    }
                }
            });
            f.trainUntil("a", 20);
            f.trainUntil("flaky", 10);
            f.registry.state("b", AdapterState.RETIRING);
            f.trainUntil("a", 25);
            over.set(true);
            reader.join();
            f.end();
            Set<String> seen = new HashSet<>();
            for (Adapter a : adapters) {
                LedgerSnapshot l = f.rollout.ledger(a.registration()).orElseThrow();
                assertThat(l.open()).isZero();
                seen.addAll(l.failed().keySet());
                seen.addAll(l.requeued().keySet());
                seen.addAll(l.filtered().keySet());
            }
            assertThat(seen).contains("aborted", "malformed", "rejected", "generator_error", "reward_error", "zero_variance");
            assertThat(f.faults).isEmpty();
            assertThat(reads.get()).isPositive();
        }
    }

    @Test
    void theDeterministicScheduleTrainsTheSameGroupsWhateverTheTiming() throws Exception {
        assertThat(deterministicRun(1)).isEqualTo(deterministicRun(2)).isNotEmpty();
    }

    /** What adapter {@code a} trained, step by step, while timing and neighbours differ by {@code variant}. */
    private static List<List<Object>> deterministicRun(int variant) throws Exception {
        Map<Long, AtomicInteger> tries = new ConcurrentHashMap<>();
        try (RolloutFixture f = new RolloutFixture((r, n) -> {
            long spin = Seeds.of(variant, r.seed()) % 20_000;
            for (long i = 0; i < spin; i++) {
                Thread.onSpinWait();
            }
            if (r.seed() % 11 == 0 && tries.computeIfAbsent(r.seed(), k -> new AtomicInteger()).incrementAndGet() == 1) {
                throw new SamplerException(Kind.ABORTED, "an engine fault");
            }
            return r.seed() % 3 == 0 ? "wrong" : RecordingSampler.RIGHT.answer(r, n);
        }, RolloutFixture.limits(32, Schedule.DETERMINISTIC), 37)) {
            f.registry.activate("a", Configs.basic().shape(6, 2).staleness(2).filter("zero_variance", 4).build());
            if (variant == 2) {
                f.registry.activate("neighbour", Configs.basic().shape(3, 4).build());
            }
            f.trainUntil("a", 12);
            return f.steps.get("a").subList(0, 12).stream().map(s -> s.groups().stream()
                    .<Object>map(g -> List.of(g.prompt().epoch(), g.prompt().row(), g.stamp().step(), g.samples().stream().map(Sample::text).toList()))
                    .collect(Collectors.toList())).collect(Collectors.toList());
        }
    }

    @Test
    void aRestoredRegistrationGoesOnWithItsOpenRowsFirst() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            var id = TestRegistry.registration("a", 77);
            LedgerSnapshot crashed = new LedgerSnapshot(30, 3, 2, 1, 20, Map.of(), 1, 0, Map.of("aborted", 2L), Map.of("veto", 1L));
            f.rollout.restore(id, crashed, new Cursor("f".repeat(64), 0, 30, List.of(new Cursor.OpenRow(0, 4, 1, 0), new Cursor.OpenRow(0, 9, 0, 2)), 28), 500, 400);
            f.registry.activate("a", id, Configs.basic().shape(4, 2).staleness(0).build(), 1000);
            f.trainUntil("a", 1);
            StepAccount step = f.steps.get("a").getFirst();
            assertThat(step.groups().stream().map(g -> g.prompt().row())).containsExactly(4L, 9L, 30L, 31L);
            assertThat(step.groups().get(1).prompt().stale()).isEqualTo(2);
            assertThat(step.ledger().requeued()).containsEntry("crash", 6L);
            assertThat(step.ledger().trained()).isEqualTo(24);
            assertThat(step.cursor().finished()).isEqualTo(32);
            assertThat(step.trainedTokens()).isGreaterThan(400);
        }
    }

    @Test
    void aDatasetThatChangedIsNoticedOnResume() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            var id = TestRegistry.registration("a", 78);
            f.rollout.restore(id, LedgerSnapshot.EMPTY, new Cursor("e".repeat(64), 0, 30, List.of(), 28), 0, 0);
            f.registry.activate("a", id, Configs.basic().build(), 1000);
            assertThat(f.awaitFault()).isTrue();
            assertThat(f.faults.get("a")).contains("dataset has changed");
        }
    }

    @Test
    void afterAVetoTheGroupsAreFailedAndTheAdapterGoesOn() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).staleness(0).build());
            while (!f.rollout.collect().stepping().contains("a")) {
                assertThat(f.faults).isEmpty();
            }
            f.rollout.vetoed(a.registration());
            f.trainUntil("a", 1);
            assertThat(f.steps.get("a").getFirst().step()).isEqualTo(1);
            assertThat(f.rollout.ledger(a.registration()).orElseThrow().failed()).containsEntry("veto", 4L);
        }
    }

    @Test
    void anEmptyBatchIsReportedAndIsNoError() throws Exception {
        RolloutLimits impatient = new RolloutLimits(32, Duration.ofMillis(20), Duration.ofMillis(30), 10, 1, 3, 4, Duration.ofSeconds(10), Schedule.ASYNCHRONOUS);
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, impatient, 40)) {
            assertThat(f.rollout.collect().isEmpty()).isTrue();
            f.end();
            assertThat(f.empty).isGreaterThanOrEqualTo(Duration.ofMillis(30));
        }
    }

    @Test
    void aTrainerThatHasSomethingElseToDoIsNotKeptWaiting() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Thread asks = Thread.ofVirtual().start(f.rollout::interruptCollect);
            assertThat(f.rollout.collect().groups()).isEmpty();
            asks.join();
            assertThat(f.empty).as("not for want of groups").isEqualTo(Duration.ZERO);
        }
    }

    @Test
    void closingWakesWhoeverWaitsForABatchAndBooksEverythingRetired() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        Semaphore never = new Semaphore(0);
        RolloutFixture f = new RolloutFixture((r, n) -> {
            asked.countDown();
            never.acquire();
            return "x";
        }, LIMITS, 40);
        Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).build());
        AtomicBoolean emptied = new AtomicBoolean();
        Thread trainer = Thread.ofVirtual().start(() -> {
            try {
                emptied.set(f.rollout.collect().isEmpty());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        asked.await();
        f.close();
        trainer.join();
        assertThat(emptied).isTrue();
        LedgerSnapshot l = f.rollout.ledger(a.registration()).orElseThrow();
        assertThat(l.open()).isZero();
        assertThat(l.retired()).isEqualTo(l.dispatched()).isPositive();
    }
}
