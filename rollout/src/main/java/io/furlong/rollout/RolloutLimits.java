package io.furlong.rollout;

import io.furlong.core.ConfigException;
import java.time.Duration;

/**
 * The bounds a run works within.
 *
 * @param globalBatchSize   samples of a full train batch; an adapter's step may span batches
 * @param maxCoalesceWait   how long a partial batch waits for more after its first group
 * @param emptyBatchTimeout how long {@link Rollout#collect} waits for a first group
 * @param requestsPerEngine requests in flight an engine; together with the number of engines the shared limit
 * @param dataParallel      trainer processes that a batch is split over
 * @param maxRetries        how often a prompt is tried again before it is FAILED
 * @param stuckRewards      reward calls past their deadline that still occupy a thread, at which the adapter fails
 * @param requestDeadline   for one request to the engines, retries included
 * @param schedule          whether the run repeats bit for bit
 */
public record RolloutLimits(int globalBatchSize, Duration maxCoalesceWait, Duration emptyBatchTimeout, int requestsPerEngine,
                            int dataParallel, int maxRetries, int stuckRewards, Duration requestDeadline, Schedule schedule) {
    /** How much of the order of things is fixed. */
    public enum Schedule {
        /** Generation runs ahead of training as far as each adapter's staleness allows. */
        ASYNCHRONOUS,
        /**
         * Nothing that is trained depends on timing: every group is made by the weights it is trained on (staleness 0,
         * whatever the adapter allows), filters judge in dispatch order, a batch holds whole steps only.
         */
        DETERMINISTIC
    }

    public RolloutLimits {
        atLeast("rollout.global_batch_size", globalBatchSize, 1);
        atLeast("engine.sglang_server_concurrency", requestsPerEngine, 1);
        atLeast("data_parallel", dataParallel, 1);
        atLeast("rollout.max_retries", maxRetries, 0);
        atLeast("rollout.stuck_rewards", stuckRewards, 1);
        positive("rollout.empty_batch_timeout", emptyBatchTimeout);
        positive("rollout.request_deadline", requestDeadline);
        if (maxCoalesceWait.isNegative()) {
            throw new ConfigException("rollout.max_coalesce_wait", maxCoalesceWait, "not negative");
        }
    }

    public static RolloutLimits of(int globalBatchSize, Schedule schedule) {
        return new RolloutLimits(globalBatchSize, Duration.ofMillis(500), Duration.ofSeconds(30), 512, 1, 3, 4,
                Duration.ofMinutes(10), schedule);
    }

    private static void atLeast(String field, int value, int least) {
        if (value < least) {
            throw new ConfigException(field, value, "an integer ≥ " + least);
        }
    }

    private static void positive(String field, Duration value) {
        if (value.isZero() || value.isNegative()) {
            throw new ConfigException(field, value, "above 0");
        }
    }
}
