package io.furlong.core;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the user asked for, whole and checked; one per registration.
 *
 * @param rolloutBatchSize  prompt groups per optimizer step
 * @param nSamplesPerPrompt samples per group
 * @param maxStaleness      k: a group trained in step S→S+1 was made by the weights of step ≥ S − k; 0 is exactly on-policy
 * @param weight            share of the engines relative to other adapters
 * @param save              directory that exports go to; must be the adapter's own
 * @param metadata          merged under each row's metadata
 */
public record AdapterConfig(DataConfig data, RewardConfig reward, int rolloutBatchSize, int nSamplesPerPrompt, LoraConfig lora,
                            SamplingConfig sampling, LossConfig loss, OptimizerConfig optimizer, int maxStaleness,
                            Stragglers stragglers, double weight, StopRule stop, List<FilterConfig> filters,
                            Optional<EvalConfig> eval, Optional<InitFrom> initFrom, Path save, Map<String, Object> metadata) {
    /** What a step does about groups that take longer than their successors. */
    public enum Stragglers {
        /** A step takes groups in dispatch order: no length bias, nothing stale without a failure. */
        WAIT,
        /** A step may overtake; what gets too old is STALE and its prompt goes back. Favours short answers. */
        DROP
    }

    public AdapterConfig {
        filters = List.copyOf(filters);
        metadata = Map.copyOf(metadata);
        Check.field("rollout_batch_size", rolloutBatchSize, rolloutBatchSize >= 1, "an integer ≥ 1");
        Check.field("n_samples_per_prompt", nSamplesPerPrompt, nSamplesPerPrompt >= 1, "an integer ≥ 1");
        Check.field("max_staleness", maxStaleness, maxStaleness >= 0, "≥ 0");
        Check.field("weight", weight, Double.isFinite(weight) && weight > 0, "a finite number above 0");
    }

    /** Engine places the adapter needs: one per version that may be in use. */
    public int adapterPlaces() {
        return maxStaleness + 1;
    }
}
