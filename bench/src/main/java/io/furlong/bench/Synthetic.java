package io.furlong.bench;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterState;
import io.furlong.core.DataConfig;
import io.furlong.core.FinishReason;
import io.furlong.core.Group;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.RegistrationId;
import io.furlong.core.RewardConfig;
import io.furlong.core.Sample;
import io.furlong.core.SamplingConfig;
import io.furlong.core.StopRule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;

/** Adapters and groups made up for measuring: real shapes, random tokens, log-probs and rewards. */
final class Synthetic {
    private Synthetic() {}

    static Adapter adapter(String name) {
        return new Adapter(name, RegistrationId.random(), 0, AdapterState.ACTIVE, Optional.empty(), 0, 1_000_000, 0, config(2, 8, Path.of("none")), "");
    }

    static AdapterConfig config(int groups, int samples, Path save) {
        return new AdapterConfig(
                new DataConfig(Path.of("none.jsonl"), "text", Optional.of("label"), Optional.empty(), DataConfig.Template.AS_IS, DataConfig.Order.AS_WRITTEN,
                        OptionalInt.empty()),
                new RewardConfig(Optional.of("exact_match"), Optional.empty(), Duration.ofSeconds(1)), groups, samples,
                new LoraConfig(8, 16, LoraConfig.ALL_LINEAR), SamplingConfig.at(1, 64), LossConfig.DEFAULT, OptimizerConfig.DEFAULT, 1,
                AdapterConfig.Stragglers.WAIT, 1, StopRule.steps(1_000_000), List.of(), Optional.empty(), Optional.empty(), save, Map.of());
    }

    static Group group(Adapter adapter, long dispatch, int samples, int promptTokens, int responseTokens, int vocab) {
        Random random = new Random(dispatch);
        PolicyStamp stamp = new PolicyStamp(adapter.registration(), 1, 0, "0".repeat(64), "bench");
        int[] prompt = random.ints(promptTokens, 0, vocab).toArray();
        List<Sample> all = new ArrayList<>();
        for (int i = 0; i < samples; i++) {
            float[] logProbs = new float[responseTokens];
            byte[] mask = new byte[responseTokens];
            for (int t = 0; t < responseTokens; t++) {
                logProbs[t] = (float) (-Math.log(vocab) + 0.05 * random.nextGaussian());
                mask[t] = 1;
            }
            all.add(new Sample(i, prompt, random.ints(responseTokens, 0, vocab).toArray(), logProbs, mask, "", FinishReason.STOP, 1,
                    i % 2, stamp, List.of(), "bench"));
        }
        return new Group(adapter.name(), adapter.registration(), dispatch, new Prompt(dispatch, 0, "", prompt, "", Map.of(), 0, 0), all, stamp, 0);
    }
}
