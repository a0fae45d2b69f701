package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Adapters: how they begin, that copies are copies, that directories say what the weights are, and that gradients stay with their owner. */
class LoraTest {
    @TempDir Path temp;

    static List<Path> adapters() {
        return Fixtures.adapters();
    }

    @Test
    void aNewAdapterChangesNothingAndComesFromItsSeed() {
        try (Scope scope = new Scope(); BaseModel model = model(); Decoder decoder = new Decoder(model); LoraWeights a = all(model, 4, 1);
                LoraWeights again = all(model, 4, 1); LoraWeights other = all(model, 4, 2)) {
            Tensor base = decoder.forward(List.of(Sequence.ofBase(1, 2, 3)));
            assertThat(Tensors.floats(decoder.forward(List.of(Sequence.of(a, 1, 2, 3))))).isEqualTo(Tensors.floats(base));
            assertThat(again.digest()).isEqualTo(a.digest()).hasSize(64);
            assertThat(other.digest()).isNotEqualTo(a.digest());
            Tensor first = a.parameters().firstEntry().getValue();
            double bound = 1 / Math.sqrt(model.config().hiddenSize());
            assertThat(first.max().item_float()).isBetween((float) (0.8 * bound), (float) bound);
            assertThat(first.min().item_float()).isBetween((float) -bound, (float) (-0.8 * bound));
        }
    }

    @Test
    void aFrozenCopyKeepsItsBytesWhileTheOriginalIsTrained() {
        try (Scope scope = new Scope(); BaseModel model = model(); LoraWeights live = all(model, 4, 1); LoraWeights copy = live.frozenCopy()) {
            String digest = copy.digest();
            assertThat(digest).isEqualTo(live.digest());
            Torch.noGrad(() -> live.parameters().values().forEach(t -> t.add_(new Scalar(0.5))));
            assertThat(live.digest()).isNotEqualTo(digest);
            assertThat(copy.digest()).isEqualTo(digest);
            assertThat(copy.isTrainable()).isFalse();
            assertThat(copy.parameters().values()).noneMatch(Tensor::requires_grad);
        }
    }

    @ParameterizedTest
    @MethodSource("adapters")
    void whatIsReadAndWrittenAgainAdaptsAsBefore(Path folder) throws IOException {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.baseOf(folder)); Decoder decoder = new Decoder(model);
                LoraWeights lora = PeftDirectory.read(folder, model.config())) {
            Path written = Files.createDirectory(temp.resolve("written"));
            PeftDirectory.write(lora, written, "base");
            try (LoraWeights again = PeftDirectory.read(written, model.config())) {
                int[] ids = new Random(1).ints(20, 0, model.config().vocabSize()).toArray();
                Tensor before = decoder.forward(List.of(Sequence.of(lora, ids)));
                Tensor after = decoder.forward(List.of(Sequence.of(again, ids)));
                assertThat(Fixtures.largestDifference(before, after)).isLessThan(1e-5);
                assertThat(again.targets()).isEqualTo(lora.targets());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"STANDARD", "RANK_STABILISED"})
    void aTrainedAdapterComesBackFromItsDirectoryBitForBit(LoraSpec.Scaling scaling) throws IOException {
        try (BaseModel model = model();
                LoraWeights lora = LoraWeights.init(model.config(), new LoraSpec(3, 5, scaling, EnumSet.of(Projection.Q, Projection.DOWN)), 7)) {
            fill(lora, 3);
            Path written = Files.createDirectory(temp.resolve("written"));
            PeftDirectory.write(lora, written, "base");
            try (LoraWeights again = PeftDirectory.read(written, model.config())) {
                assertThat(again.digest()).isEqualTo(lora.digest());
            }
        }
    }

    /** SGLang scales by lora_alpha / r alone, wants one rank, and stacks q, k, v and gate, up. */
    @ParameterizedTest
    @MethodSource("adapters")
    void aWrittenDirectoryFollowsTheRulesOfSglang(Path folder) throws IOException {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.baseOf(folder)); LoraWeights lora = PeftDirectory.read(folder, model.config())) {
            Path written = Files.createDirectory(temp.resolve("written"));
            PeftDirectory.write(lora, written, "base");
            JsonNode config = new ObjectMapper().readTree(written.resolve("adapter_config.json").toFile());
            assertThat(config.get("use_rslora").asBoolean()).isFalse();
            assertThat(config.get("rank_pattern").isEmpty() && config.get("alpha_pattern").isEmpty()).isTrue();
            Set<String> targets = Set.copyOf(Stream.of(config.get("target_modules")).flatMap(n -> IntStream.range(0, n.size()).mapToObj(i -> n.get(i).asText())).toList());
            assertThat(targets.contains("q_proj")).isEqualTo(targets.contains("v_proj")).isEqualTo(targets.contains("k_proj"));
            assertThat(targets.contains("gate_proj")).isEqualTo(targets.contains("up_proj"));
            try (Safetensors file = Safetensors.open(written.resolve("adapter_model.safetensors"))) {
                assertThat(file.names()).hasSize(2 * targets.size() * model.config().layers());
                file.names().forEach(name -> assertThat(file.shape(name)[name.contains("lora_A") ? 0 : 1]).as(name).isEqualTo(config.get("r").asLong()));
            }
        }
    }

    @Test
    void gradientsReachEachAdaptersOwnTensorsAndAreThoseItWouldHaveAlone() {
        try (Scope scope = new Scope(); BaseModel model = model(); Decoder decoder = new Decoder(model)) {
            List<LoraWeights> loras = IntStream.of(2, 5).mapToObj(rank -> all(model, rank, rank)).toList();
            loras.forEach(l -> fill(l, l.maxRank()));
            int[][] ids = {tokens(9), tokens(14), tokens(6), tokens(14)};
            List<Sequence> batch = List.of(Sequence.of(loras.get(0), ids[0]), Sequence.of(loras.get(0), ids[1]), Sequence.ofBase(ids[2]), Sequence.of(loras.get(1), ids[3]));
            Map<String, float[]> mixed = gradients(decoder, batch, loras);
            Map<String, float[]> alone = gradients(decoder, batch.subList(0, 2), List.of(loras.get(0)));
            alone.putAll(gradients(decoder, batch.subList(3, 4), List.of(loras.get(1))));
            assertThat(mixed).containsOnlyKeys(alone.keySet()).isNotEmpty();
            alone.forEach((name, gradient) -> {
                float largest = 0;
                for (float g : gradient) {
                    largest = Math.max(largest, Math.abs(g));
                }
                assertThat(largest).as(name).isPositive();
                for (int i = 0; i < gradient.length; i++) {
                    assertThat(mixed.get(name)[i]).as(name).isCloseTo(gradient[i], org.assertj.core.data.Offset.offset(1e-4f * largest));
                }
            });
            assertThat(model.parameters()).noneMatch(p -> p.requires_grad() || p.grad().defined());
        }
    }

    @Test
    void theGradientIsTheSlopeOfTheLogProbabilityInEveryProjection() {
        try (Scope scope = new Scope(); BaseModel model = model(); Decoder decoder = new Decoder(model); LoraWeights lora = all(model, 3, 1)) {
            fill(lora, 2);
            int[] ids = tokens(12);
            List<Sequence> batch = List.of(Sequence.of(lora, ids));
            Map<String, float[]> gradients = gradients(decoder, batch, List.of(lora));
            Random random = new Random(8);
            lora.parameters().forEach((name, tensor) -> {
                int entry = random.nextInt((int) tensor.numel());
                double step = 1e-2;
                double slope = (shifted(decoder, batch, tensor, entry, step) - shifted(decoder, batch, tensor, entry, -step)) / (2 * step);
                float[] own = gradients.get("0." + name);
                assertThat(slope).as(name).isCloseTo(own[entry], org.assertj.core.data.Offset.offset(2e-2 * Math.max(0.05, Math.abs(own[entry]))));
            });
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {0.7f, 1f, 1.3f})
    void logProbsAreThoseOfTheLogitsDividedByEachRowsTemperature(float temperature) {
        try (Scope scope = new Scope(); BaseModel model = model(); Decoder decoder = new Decoder(model)) {
            int[] ids = tokens(9);
            Tensor hidden = decoder.forward(List.of(Sequence.ofBase(ids))).narrow(0, 0, 8);
            float[] temperatures = {temperature, 1, temperature, 2, temperature, 1, 0.5f, temperature};
            float[] actual = Tensors.floats(LogProbs.of(decoder, hidden, Arrays.copyOfRange(ids, 1, 9), temperatures));
            float[] logits = Tensors.floats(decoder.logits(hidden));
            int vocab = model.config().vocabSize();
            for (int row = 0; row < 8; row++) {
                double sum = 0;
                for (int v = 0; v < vocab; v++) {
                    sum += Math.exp(logits[row * vocab + v] / temperatures[row]);
                }
                assertThat(actual[row]).isCloseTo((float) (logits[row * vocab + ids[row + 1]] / temperatures[row] - Math.log(sum)), org.assertj.core.data.Offset.offset(1e-5f));
            }
        }
    }

    @Test
    void theBaseCanBeTrainedOnACopyAndSaved() throws IOException {
        try (Scope scope = new Scope(); BaseModel model = model(); BaseModel copy = model.trainableCopy(); Decoder decoder = new Decoder(copy); Decoder frozen = new Decoder(model)) {
            Tensor before = frozen.forward(List.of(Sequence.ofBase(tokens(7))));
            LogProbs.of(decoder, decoder.forward(List.of(Sequence.ofBase(tokens(7)))), tokens(7), ones(7)).mean().backward();
            assertThat(copy.parameters()).allMatch(p -> p.grad().defined());
            Torch.noGrad(() -> copy.parameters().forEach(p -> p.add_(p.grad(), new Scalar(0.1))));
            Path folder = Files.createDirectory(temp.resolve("saved"));
            copy.save(folder);
            try (BaseModel again = BaseModel.load(folder); Decoder reloaded = new Decoder(again)) {
                assertThat(again.config()).isEqualTo(model.config());
                Tensor after = reloaded.forward(List.of(Sequence.ofBase(tokens(7))));
                assertThat(Tensors.floats(after)).isEqualTo(Tensors.floats(decoder.forward(List.of(Sequence.ofBase(tokens(7))))));
                assertThat(Tensors.floats(after)).isNotEqualTo(Tensors.floats(before));
            }
            assertThat(Tensors.floats(frozen.forward(List.of(Sequence.ofBase(tokens(7)))))).isEqualTo(Tensors.floats(before));
        }
    }

    @Test
    void anArtifactIsWrittenOnceAndWhole() throws IOException {
        try (TorchThread thread = new TorchThread("test"); BaseModel model = model()) {
            Path place = temp.resolve("adapter@v1");
            TorchArtifact artifact = thread.call(() -> {
                LoraWeights live = all(model, 4, 1);
                fill(live, 5);
                LoraWeights frozen = live.frozenCopy();
                live.close();
                PolicyStamp stamp = new PolicyStamp(RegistrationId.random(), 1, 0, frozen.digest(), "a");
                try (Decoder decoder = new Decoder(model)) {
                    return new TorchArtifact("a", stamp, frozen, decoder, TorchArtifact.Probe.of(decoder, tokens(6)), new TorchArtifact.Destination(thread, place, "base"));
                }
            });
            assertThat(artifact.rank()).isEqualTo(4);
            assertThat(artifact.targets()).hasSize(7);
            assertThat(artifact.probeLogProbs()).hasSize(5).isNotEqualTo(artifact.probeBaseLogProbs());
            assertThat(artifact.materialise()).isEqualTo(place);
            assertThat(artifact.materialise()).isEqualTo(place);
            try (Stream<Path> left = Files.list(temp)) {
                assertThat(left).containsExactly(place);
            }
            thread.run(() -> {
                try (LoraWeights read = PeftDirectory.read(place, model.config())) {
                    assertThat(read.digest()).isEqualTo(artifact.stamp().digest());
                }
            });
            artifact.close();
        }
    }

    /** Gradients of the summed log-probabilities, by adapter (its rank's place) and name; adapters are left without gradients. */
    private static Map<String, float[]> gradients(Decoder decoder, List<Sequence> batch, List<LoraWeights> loras) {
        try (Scope scope = new Scope()) {
            sum(decoder, batch).backward();
            Map<String, float[]> out = new LinkedHashMap<>();
            for (LoraWeights lora : loras) {
                lora.parameters().forEach((name, tensor) -> {
                    out.put((lora.maxRank() == 5 ? 1 : 0) + "." + name, Tensors.floats(tensor.grad()));
                    tensor.mutable_grad().reset();
                });
            }
            return out;
        }
    }

    private static double shifted(Decoder decoder, List<Sequence> batch, Tensor tensor, int entry, double by) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                Tensor cell = tensor.detach().view(-1).narrow(0, entry, 1);
                cell.add_(new Scalar(by));
                double value = sum(decoder, batch).to(torch.ScalarType.Double).item_double();
                cell.add_(new Scalar(-by));
                return value;
            }
        });
    }

    private static Tensor sum(Decoder decoder, List<Sequence> batch) {
        int[] targets = batch.stream().flatMapToInt(s -> IntStream.of(s.tokens())).toArray();
        return LogProbs.of(decoder, decoder.forward(batch), targets, ones(targets.length)).sum();
    }

    private static float[] ones(int n) {
        float[] ones = new float[n];
        Arrays.fill(ones, 1f);
        return ones;
    }

    private static int[] tokens(int n) {
        return new Random(n).ints(n, 0, 96).toArray();
    }

    private static BaseModel model() {
        return BaseModel.load(Fixtures.own().resolve("models/llama-gqa"));
    }

    private static LoraWeights all(BaseModel model, int rank, long seed) {
        return LoraWeights.init(model.config(), LoraSpec.allLinear(rank, 8), seed);
    }

    private static void fill(LoraWeights lora, long seed) {
        Random random = new Random(seed);
        Torch.noGrad(() -> lora.parameters().values().forEach(t -> {
            try (Scope scope = new Scope()) {
                float[] values = new float[(int) t.numel()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = (float) (0.1 * random.nextGaussian());
                }
                t.copy_(Tensor.create(values, t.shape()));
            }
        }));
    }
}
