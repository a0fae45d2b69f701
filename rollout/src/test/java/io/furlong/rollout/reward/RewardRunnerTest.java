package io.furlong.rollout.reward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.core.ConfigException;
import io.furlong.core.RewardConfig;
import io.furlong.rollout.OwnRewards;
import io.furlong.rollout.reward.RewardRunner.Reason;
import io.furlong.rollout.reward.RewardRunner.RewardException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RewardRunnerTest {
    private final AtomicInteger bound = new AtomicInteger();

    private RewardRunner runner(Duration timeout) {
        return new RewardRunner("a", new ExactMatch(), timeout, 2, bound::set);
    }

    @Test
    void theDeadlineCountsFromTheStartOfTheWorkNotFromTheQueue() throws Exception {
        try (RewardRunner r = runner(Duration.ofSeconds(10))) {
            CountDownLatch go = new CountDownLatch(1);
            List<FutureTask<Integer>> calls = new ArrayList<>();
            for (int i = 0; i < 200; i++) { // two threads: most of them wait for those before
                int n = i;
                FutureTask<Integer> call = new FutureTask<>(() -> r.run("work", () -> {
                    go.await();
                    return n;
                }));
                calls.add(call);
                Thread.startVirtualThread(call);
            }
            go.countDown();
            for (int i = 0; i < 200; i++) {
                assertThat(calls.get(i).get()).isEqualTo(i);
            }
            assertThat(r.abandoned()).isZero();
        }
    }

    @Test
    void callsThatDontReturnAreGivenUpAndAtTheBoundTheOwnerIsTold() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        try (RewardRunner r = runner(Duration.ofMillis(20))) {
            for (int i = 1; i <= 2; i++) {
                assertThat(bound.get()).isZero();
                assertThatThrownBy(() -> r.run("work", () -> {
                    while (over.getCount() > 0) {
                        Thread.onSpinWait();
                    }
                    return 0;
                })).isInstanceOfSatisfying(RewardException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TIMEOUT));
                assertThat(r.stuck()).isEqualTo(i);
            }
            assertThat(bound.get()).isEqualTo(2);
            over.countDown();
            assertThat(r.run("work", () -> 5)).as("a thread that came back works again").isEqualTo(5);
            assertThat(r.abandoned()).isEqualTo(2);
        }
    }

    @Test
    void whoeverWaitsBehindAStuckCallIsFreedWhenTheAdapterEnds() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        CountDownLatch busy = new CountDownLatch(2);
        RewardRunner r = runner(Duration.ofSeconds(50));
        for (int i = 0; i < 2; i++) {
            Thread.startVirtualThread(() -> {
                try {
                    r.run("work", () -> {
                        busy.countDown();
                        while (over.getCount() > 0) {
                            Thread.onSpinWait();
                        }
                        return 0;
                    });
                } catch (RewardException | UnscorableException | InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
        }
        busy.await();
        FutureTask<Integer> waiting = new FutureTask<>(() -> r.run("work", () -> 1));
        Thread t = Thread.ofVirtual().start(waiting);
        while (t.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        r.close();
        assertThatThrownBy(waiting::get).hasCauseInstanceOf(RewardException.class);
        over.countDown();
    }

    @Test
    void aRewardIsFoundByNameOrByAllowedClassAndNothingElseIsLoaded() {
        String allowed = OwnRewards.Flaky.class.getName();
        Rewards rewards = new Rewards(Set.of(allowed, "java.lang.String"));
        assertThat(rewards.find(type("exact_match"))).isInstanceOf(ExactMatch.class);
        assertThat(rewards.find(type("math"))).isInstanceOf(MathReward.class).isNotSameAs(rewards.find(type("math")));
        assertThat(rewards.find(path(allowed))).isInstanceOf(OwnRewards.Flaky.class);
        assertThat(rewards.find(path("exact_match"))).isInstanceOf(ExactMatch.class);
        assertThatThrownBy(() -> rewards.find(type("dapo"))).isInstanceOf(ConfigException.class)
                .hasMessage("rm_type: got 'dapo', must be one of exact_match, math");
        assertThatThrownBy(() -> rewards.find(path(OwnRewards.Endless.class.getName()))).isInstanceOf(ConfigException.class)
                .hasMessageContaining("allowed class");
        assertThatThrownBy(() -> rewards.find(path("java.lang.String"))).hasMessageContaining("a class that implements");
    }

    private static RewardConfig type(String name) {
        return new RewardConfig(Optional.of(name), Optional.empty(), Duration.ofSeconds(1));
    }

    private static RewardConfig path(String name) {
        return new RewardConfig(Optional.empty(), Optional.of(name), Duration.ofSeconds(1));
    }
}
