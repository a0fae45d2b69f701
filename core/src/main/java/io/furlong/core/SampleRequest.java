package io.furlong.core;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * One response wanted from an engine.
 *
 * @param adapter  the adapter's name
 * @param stamp    the weights it must come from
 * @param inputIds prompt token ids, shape [P]
 * @param sampling parameters
 * @param seed     seed of this response; the same seed, prompt and weights give the same response in the deterministic setting
 * @param affinity requests with equal affinity share a prefix and should go to one engine
 * @param deadline for all tries together
 * @param wanted   asked before every send, after every wait: false means nothing is sent and {@link SamplerException.Kind#UNWANTED} is thrown
 */
public record SampleRequest(String adapter, PolicyStamp stamp, int[] inputIds, SamplingConfig sampling, long seed, String affinity,
                            Duration deadline, BooleanSupplier wanted) {}
