package io.furlong.train;

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
import io.furlong.core.TrainBatch;
import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Scope;
import io.furlong.torch.Tensors;
import io.furlong.train.ResponseScorer.Response;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;

/** The reference model with adapters and samples made from seeds. */
final class Bench {
    static final BaseModel BASE = BaseModel.load(shipped().resolve("models/llama-gqa"));
    static final int VOCAB = BASE.config().vocabSize();

    private Bench() {}

    static Path shipped() {
        try {
            return Path.of(Bench.class.getResource("/fixtures").toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    static AdapterConfig config(LoraConfig lora, LossConfig loss, OptimizerConfig optimizer, int maxStaleness) {
        DataConfig data = new DataConfig(Path.of("rows.jsonl"), "prompt", Optional.of("label"), Optional.empty(), DataConfig.Template.AS_IS,
                DataConfig.Order.AS_WRITTEN, OptionalInt.empty());
        return new AdapterConfig(data, new RewardConfig(Optional.of("exact_match"), Optional.empty(), Duration.ofSeconds(5)), 16, 4, lora,
                SamplingConfig.at(1, 16), loss, optimizer, maxStaleness, AdapterConfig.Stragglers.WAIT, 1, StopRule.steps(100), List.of(),
                Optional.empty(), Optional.empty(), Path.of("save"), Map.of());
    }

    static AdapterConfig config() {
        return config(new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, OptimizerConfig.DEFAULT, 1);
    }

    static Adapter adapter(String name, AdapterConfig config) {
        return adapter(name, registration(name), config);
    }

    static Adapter adapter(String name, RegistrationId registration, AdapterConfig config) {
        return new Adapter(name, registration, 0, AdapterState.ACTIVE, Optional.empty(), 0, 100, 0, config, "");
    }

    static RegistrationId registration(String name) {
        return new RegistrationId(String.format("%032x", name.hashCode() & 0xffffffffL));
    }

    static PolicyStamp stamp(Adapter adapter, long version, long step) {
        String digest = "0".repeat(64);
        return new PolicyStamp(adapter.registration(), version, step, digest, PolicyStamp.versionedName(adapter.name(), adapter.registration(), version, digest));
    }

    static Sample sample(int index, int[] prompt, int[] response, float[] logProbs, double temperature, double reward, PolicyStamp stamp) {
        byte[] mask = new byte[response.length];
        Arrays.fill(mask, (byte) 1);
        return new Sample(index, prompt, response, logProbs, mask, "", FinishReason.STOP, temperature, reward, stamp, List.of(), "here");
    }

    /**
     * {@code n} groups of {@code size} samples, of different lengths and rewards, whose sampling log-probs are the base's with some noise: what
     * a slightly older policy would have returned.
     */
    static List<Group> groups(Adapter adapter, int n, int size, long seed, double noise) {
        Random random = new Random(seed);
        List<Group> groups = new ArrayList<>();
        try (Scope scope = new Scope(); Decoder decoder = new Decoder(BASE)) {
            ResponseScorer scorer = new ResponseScorer(decoder);
            for (int g = 0; g < n; g++) {
                int[] prompt = tokens(random, 3 + random.nextInt(6));
                PolicyStamp stamp = stamp(adapter, 1, 0);
                List<Sample> samples = new ArrayList<>();
                for (int i = 0; i < size; i++) {
                    int[] response = tokens(random, 2 + random.nextInt(10));
                    samples.add(sample(i, prompt, response, new float[response.length], g % 3 == 0 ? 0.7 : 1.0,
                            i == 0 ? 1 : i == 1 ? 0 : random.nextInt(2), stamp));
                }
                float[] scored = scorer.score(samples.stream().map(s -> new Response(s, Optional.empty())).toList());
                int at = 0;
                for (Sample s : samples) {
                    for (int t = 0; t < s.logProbs().length; t++) {
                        s.logProbs()[t] = scored[at++] + (float) (noise * random.nextGaussian());
                    }
                }
                groups.add(new Group(adapter.name(), adapter.registration(), g, new Prompt(g, 0, "", prompt, "", Map.of(), 0, 0), samples, stamp, 0));
            }
        }
        return groups;
    }

    static int[] tokens(Random random, int n) {
        return random.ints(n, 0, VOCAB).toArray();
    }

    static TrainBatch batch(Set<String> stepping, List<Group> groups) {
        return new TrainBatch(groups, stepping, 1);
    }

    /** Entries by parameter name. */
    static Map<String, float[]> values(LoraWeights weights) {
        Map<String, float[]> values = new LinkedHashMap<>();
        weights.parameters().forEach((name, p) -> values.put(name, Tensors.floats(p)));
        return values;
    }
}
