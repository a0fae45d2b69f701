package io.furlong.train;

import io.furlong.core.HealthProbe;
import java.util.function.Supplier;

/** What the trainer says of itself. Written on the trainer's thread, read by anyone. */
final class TrainerHealth implements HealthProbe {
    private volatile Health health = up(0, 0);
    private int adapters;
    private long batches;

    /** Runs a train call; when it throws, the trainer is down until one succeeds. */
    TrainReport watch(Supplier<TrainReport> call) {
        try {
            TrainReport report = call.get();
            batches++;
            health = up(adapters, batches);
            return report;
        } catch (RuntimeException e) {
            health = new Health(Health.Status.DOWN, "train call failed: " + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
            throw e;
        }
    }

    void attached(int count) {
        adapters = count;
        health = up(adapters, batches);
    }

    void closed() {
        health = new Health(Health.Status.DOWN, "closed");
    }

    @Override
    public String name() {
        return "trainer";
    }

    @Override
    public Health check() {
        return health;
    }

    private static Health up(int adapters, long batches) {
        return new Health(Health.Status.UP, adapters + " adapters, " + batches + " batches trained");
    }
}
