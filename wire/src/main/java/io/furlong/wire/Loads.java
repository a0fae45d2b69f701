package io.furlong.wire;

import java.util.List;
import java.util.Optional;

/** {@code GET /v1/loads}: how busy each scheduler of a server is. */
public record Loads(Optional<String> timestamp, Optional<String> version, List<Load> loads) {
    /** @param genThroughput output tokens per second, lately */
    public record Load(int dpRank, int numRunningReqs, int numWaitingReqs, long numUsedTokens, long maxTotalNumTokens, int maxRunningRequests,
                       double tokenUsage, double genThroughput, double cacheHitRate, Optional<Lora> lora, Optional<Queues> queues) {}

    public record Lora(int slotsUsed, int slotsTotal, double utilization) {}

    public record Queues(int waiting, int paused) {}
}
