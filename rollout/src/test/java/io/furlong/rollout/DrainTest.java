package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.SamplerException;
import io.furlong.rollout.RecordingSampler.Behaviour;
import io.furlong.rollout.RolloutLimits.Schedule;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An adapter that is to end once its step is done: nothing is admitted, and the step is finished exactly if all its groups are under way. */
@Timeout(60)
class DrainTest {
    private static final RolloutLimits LIMITS = RolloutFixture.limits(64, Schedule.ASYNCHRONOUS);
    private static final Duration SOON = Duration.ofSeconds(10);

    private final Semaphore answers = new Semaphore(0);
    private final Behaviour onDemand = (request, number) -> {
        answers.acquire();
        return RecordingSampler.RIGHT.answer(request, number);
    };

    private static Behaviour counted(CountDownLatch called, Behaviour then) {
        return (request, number) -> {
            called.countDown();
            return then.answer(request, number);
        };
    }

    @Test
    void theStepWhoseGroupsAreAllUnderWayIsFinishedAndWhatIsBeyondItRetired() throws Exception {
        CountDownLatch called = new CountDownLatch(8);
        try (RolloutFixture f = new RolloutFixture(counted(called, onDemand), LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 1).staleness(1).build());
            called.await();
            f.registry.drain("a");
            answers.release(1000);
            f.trainUntil("a", 1);
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), SOON).orElseThrow();
            assertThat(last.dispatched()).as("nothing new is admitted").isEqualTo(8);
            assertThat(last.trained()).isEqualTo(4);
            assertThat(last.retired()).isEqualTo(4);
            assertThat(last.open()).isZero();
        }
    }

    @Test
    void aStepThatLacksGroupsIsNotWaitedFor() throws Exception {
        CountDownLatch called = new CountDownLatch(2);
        try (RolloutFixture f = new RolloutFixture(counted(called, onDemand), RolloutFixture.limits(2, Schedule.ASYNCHRONOUS), (adapter, config, data) -> new ListSource(40))) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(64, 1).staleness(0).build());
            called.await();
            f.registry.drain("a");
            LedgerSnapshot before = f.rollout.ledger(a.registration()).orElseThrow();
            assertThat(before.dispatched()).isLessThan(64);
            answers.release(1000);
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), SOON).orElseThrow();
            assertThat(last.dispatched()).isEqualTo(before.dispatched());
            assertThat(last.retired()).isEqualTo(last.dispatched());
            assertThat(f.sampler.aborted).contains(a.registration());
        }
    }

    @Test
    void aGroupThatComesToNothingMeanwhileEndsTheStep() throws Exception {
        CountDownLatch called = new CountDownLatch(4);
        try (RolloutFixture f = new RolloutFixture(counted(called, (request, number) -> {
            answers.acquire();
            if (number == 4) {
                throw new SamplerException(SamplerException.Kind.REJECTED, "no");
            }
            return RecordingSampler.RIGHT.answer(request, number);
        }), LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 1).staleness(0).build());
            called.await();
            f.registry.drain("a");
            answers.release(1000);
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), SOON).orElseThrow();
            assertThat(last.trained()).isZero();
            assertThat(last.dispatched()).isEqualTo(4);
            assertThat(last.open()).isZero();
        }
    }

    @Test
    void whatIsToEndNowAfterAllEndsNow() throws Exception {
        CountDownLatch called = new CountDownLatch(4);
        try (RolloutFixture f = new RolloutFixture(counted(called, onDemand), LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 1).staleness(0).build());
            called.await();
            f.registry.drain("a");
            assertThat(f.sampler.aborted).isEmpty();
            f.registry.state("a", AdapterState.RETIRING);
            answers.release(1000);
            LedgerSnapshot last = f.rollout.awaitEnded(a.registration(), SOON).orElseThrow();
            assertThat(last.retired()).isEqualTo(4);
            assertThat(f.sampler.aborted).contains(a.registration());
        }
    }

    @Test
    void aStepThatIsBeingCommittedCounts() throws Exception {
        try (RolloutFixture f = new RolloutFixture(RecordingSampler.RIGHT, LIMITS, 40)) {
            Adapter a = f.registry.activate("a", Configs.basic().shape(4, 2).staleness(0).build());
            while (!f.rollout.collect().stepping().contains("a")) {
                assertThat(f.faults).isEmpty();
            }
            f.registry.drain("a");
            StepAccount account = f.rollout.prepareStep(a.registration()).orElseThrow();
            f.rollout.stepped(account);
            assertThat(f.rollout.awaitEnded(a.registration(), SOON)).contains(account.ledger());
        }
    }
}
