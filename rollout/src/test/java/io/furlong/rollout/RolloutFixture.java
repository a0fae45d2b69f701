package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.TrainBatch;
import io.furlong.rollout.RecordingSampler.Behaviour;
import io.furlong.rollout.RolloutLimits.Schedule;
import io.furlong.rollout.reward.Rewards;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A whole rollout on threads, over an engine in memory, with a trainer that commits whatever is complete. */
final class RolloutFixture implements AutoCloseable {
    static final Set<String> OWN_REWARDS = Set.of("io.furlong.rollout.OwnRewards$Throwing", "io.furlong.rollout.OwnRewards$NotANumber",
            "io.furlong.rollout.OwnRewards$Endless", "io.furlong.rollout.OwnRewards$Flaky");

    final TestRegistry registry = new TestRegistry();
    final RecordingSampler sampler;
    final Rollout rollout;
    final List<PolicyStamp> released = new CopyOnWriteArrayList<>();
    final Map<String, String> faults = new ConcurrentHashMap<>();
    final CountDownLatch faulted = new CountDownLatch(1);
    final Map<String, List<StepAccount>> steps = new HashMap<>();
    volatile Duration empty = Duration.ZERO;

    RolloutFixture(Behaviour engine, RolloutLimits limits, int rows) {
        this(engine, limits, (adapter, config, data) -> new ListSource(rows));
    }

    RolloutFixture(Behaviour engine, RolloutLimits limits, PromptSources sources) {
        sampler = new RecordingSampler(registry, engine);
        rollout = new Rollout(new RolloutParts(registry, sampler, new CharTokenizer(), sources, new Rewards(OWN_REWARDS), new SingleTurn(),
                () -> 1, 42, InstantSource.system()), limits, new RolloutListener() {
                    @Override
                    public void adapterFault(String adapter, RegistrationId registration, String reason) {
                        faults.put(adapter, reason);
                        faulted.countDown();
                    }

                    @Override
                    public void release(PolicyStamp stamp) {
                        released.add(stamp);
                    }

                    @Override
                    public void emptyBatch(Duration waited) {
                        empty = waited;
                    }
                });
        rollout.start();
    }

    static RolloutLimits limits(int globalBatch, Schedule schedule) {
        return new RolloutLimits(globalBatch, Duration.ofMillis(20), Duration.ofSeconds(20), 32, 1, 3, 4, Duration.ofSeconds(10), schedule);
    }

    /** Collects, and commits and publishes each step that is complete, until {@code adapter} has taken {@code wanted} steps. */
    void trainUntil(String adapter, int wanted) throws InterruptedException {
        while (steps.getOrDefault(adapter, List.of()).size() < wanted) {
            trainOnce();
        }
    }

    TrainBatch trainOnce() throws InterruptedException {
        TrainBatch batch = rollout.collect();
        for (String name : batch.stepping()) {
            Adapter a = registry.get(name);
            Optional<StepAccount> account = rollout.prepareStep(a.registration());
            account.ifPresent(acc -> {
                steps.computeIfAbsent(name, k -> new ArrayList<>()).add(acc);
                registry.step(name, acc.step());
                rollout.stepped(acc);
                registry.inForce(name, TestRegistry.stamp(name, a.registration(), acc.step() + 1, acc.step()));
            });
        }
        return batch;
    }

    boolean awaitFault() throws InterruptedException {
        return faulted.await(20, TimeUnit.SECONDS);
    }

    /** Ends the rollout; everything that was to be told has been told then. */
    void end() {
        rollout.close();
    }

    @Override
    public void close() {
        end();
    }
}
