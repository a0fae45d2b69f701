package io.furlong.rollout;

import io.furlong.core.Generator;
import io.furlong.core.RegistryView;
import io.furlong.core.Sampler;
import io.furlong.core.Tokenizer;
import io.furlong.rollout.reward.Rewards;
import java.time.InstantSource;
import java.util.function.IntSupplier;

/**
 * What a rollout is put together from.
 *
 * @param engines how many engines are ready now; with {@link RolloutLimits#requestsPerEngine} the shared limit
 * @param runSeed every seed of the run comes from it
 */
public record RolloutParts(RegistryView registry, Sampler sampler, Tokenizer tokenizer, PromptSources sources, Rewards rewards,
                           Generator generator, IntSupplier engines, long runSeed, InstantSource clock) {
}
