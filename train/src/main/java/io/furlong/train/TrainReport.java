package io.furlong.train;

import io.furlong.core.Group;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What one train call did.
 *
 * @param adapters     by name, those with groups in the batch or stepping with it
 * @param refused      groups of adapters or registrations that aren't attached: not trained
 * @param microBatches forward and backward passes
 * @param tokens       tokens that went through them, prompts included
 * @param duration     wall time of the call
 */
public record TrainReport(Map<String, AdapterReport> adapters, List<Group> refused, int microBatches, long tokens, Duration duration) {
    public TrainReport {
        adapters = Collections.unmodifiableMap(new LinkedHashMap<>(adapters));
        refused = List.copyOf(refused);
    }

    public double tokensPerSecond() {
        return tokens / Math.max(1e-9, duration.toNanos() / 1e9);
    }
}
