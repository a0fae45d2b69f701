package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.Prompt;
import io.furlong.core.Sample;
import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Safetensors;
import io.furlong.torch.Scope;
import io.furlong.torch.Tensors;
import io.furlong.torch.Torch;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Loss, gradients and steps are those that PyTorch computes for the same batch. */
class ReferenceStepTest {
    private static final Path FIXTURES = Optional.ofNullable(System.getProperty("furlong.fixtures")).map(Path::of).orElse(Bench.shipped());
    private static final BaseModel BASE = base();
    private static final OptimizerConfig OPTIMIZER = new OptimizerConfig("adamw", 1e-3, "constant", 0, 0.9, 0.95, 1e-8, 0.01, 1.0);
    private static final Adapter ADAPTER = Bench.adapter("reference",
            Bench.config(new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, OPTIMIZER, 1));

    @ParameterizedTest
    @EnumSource(TrainerOptions.Order.class)
    void threeStepsAreThoseOfPyTorch(TrainerOptions.Order order) {
        TrainerOptions options = new TrainerOptions(order, 60, TrainerOptions.Gap.ALL_GROUPS);
        try (Scope scope = new Scope(); Decoder decoder = new Decoder(BASE); Safetensors expected = Safetensors.open(FIXTURES.resolve("training.safetensors"));
                Learner learner = new LearnerStart(BASE.config(), ADAPTER).from(new Start.Fresh(1))) {
            Torch.noGrad(() -> learner.weights().parameters().forEach((name, p) -> p.copy_(expected.floats("init." + name))));
            List<Group> groups = groups(expected);
            float[] losses = Tensors.floats(expected.floats("loss"));
            float[] norms = Tensors.floats(expected.floats("grad_norm"));
            for (int step = 0; step < 3; step++) {
                if (step == 0) {
                    call(groups, Set.of(), learner, decoder, options);
                    compareGradients(learner, expected);
                    learner.discard();
                }
                AdapterReport report = call(groups, Set.of("reference"), learner, decoder, options);
                assertThat(report.outcome()).isInstanceOfSatisfying(StepOutcome.Stepped.class, s -> {
                    assertThat(s.loss()).isCloseTo(losses[(int) s.step() - 1], within(1e-5));
                    assertThat(s.gradNorm()).isCloseTo(norms[(int) s.step() - 1], within(1e-5));
                    assertThat(s.samples()).isEqualTo(6);
                });
            }
            compareParameters(learner, expected);
        }
    }

    @ParameterizedTest
    @EnumSource(TrainerOptions.Order.class)
    void klToTheBaseIsTheReferences(TrainerOptions.Order order) {
        // So small a weight that the steps stay those of the fixture, which has no KL term but reports its value.
        Adapter adapter = Bench.adapter("reference", Bench.config(new LoraConfig(4, 8, LoraConfig.ALL_LINEAR),
                new LossConfig("grpo", 0.2, 0.28, 1e-12), OPTIMIZER, 1));
        TrainerOptions options = new TrainerOptions(order, 60, TrainerOptions.Gap.ONE_GROUP);
        try (Scope scope = new Scope(); Decoder decoder = new Decoder(BASE); Safetensors expected = Safetensors.open(FIXTURES.resolve("training.safetensors"));
                Learner learner = new LearnerStart(BASE.config(), adapter).from(new Start.Fresh(1))) {
            Torch.noGrad(() -> learner.weights().parameters().forEach((name, p) -> p.copy_(expected.floats("init." + name))));
            float[] kl = Tensors.floats(expected.floats("kl_k3"));
            for (int step = 0; step < 3; step++) {
                assertThat(call(groups(expected), Set.of("reference"), learner, decoder, options).kl()).isCloseTo(kl[step], within(1e-5));
            }
        }
    }

    /** The fixture doesn't name its base: the first model of its shape, by name. */
    private static BaseModel base() {
        try (Scope scope = new Scope(); Safetensors expected = Safetensors.open(FIXTURES.resolve("training.safetensors")); var models = Files.list(FIXTURES.resolve("models"))) {
            for (Path directory : models.sorted().toList()) {
                BaseModel model = BaseModel.load(directory);
                try (LoraWeights lora = LoraWeights.init(model.config(), LoraSpec.allLinear(4, 8), 1)) {
                    long tensors = expected.names().stream().filter(n -> n.startsWith("init.")).count();
                    if (lora.parameters().size() == tensors && lora.parameters().entrySet().stream()
                            .allMatch(e -> expected.names().contains("init." + e.getKey()) && Arrays.equals(expected.shape("init." + e.getKey()), e.getValue().shape()))) {
                        return model;
                    }
                }
                model.close();
            }
            throw new IllegalStateException("no model in " + FIXTURES + " has the shape of training.safetensors");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static AdapterReport call(List<Group> groups, Set<String> stepping, Learner learner, Decoder decoder, TrainerOptions options) {
        return new TrainCall(Bench.batch(stepping, groups), Map.of("reference", learner), new ResponseScorer(decoder), BASE.config().vocabSize(), options).run()
                .adapters().get("reference");
    }

    private static List<Group> groups(Safetensors expected) {
        double[] rewards = {1, 0, 1, 0, 0, 1};
        int[] promptLengths = ints(expected.longs("prompt_len"));
        List<Group> groups = new ArrayList<>();
        for (int g = 0; g < 2; g++) {
            List<Sample> samples = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                int k = 3 * g + i;
                int[] ids = ints(expected.longs("ids." + k));
                samples.add(Bench.sample(i, Arrays.copyOf(ids, promptLengths[k]), Arrays.copyOfRange(ids, promptLengths[k], ids.length),
                        Tensors.floats(expected.floats("old_logp." + k)), 1, rewards[k], Bench.stamp(ADAPTER, 1, 0)));
            }
            groups.add(new Group("reference", ADAPTER.registration(), g, new Prompt(g, 0, "", samples.getFirst().promptIds(), "", Map.of(), 0, 0), samples,
                    Bench.stamp(ADAPTER, 1, 0), 0));
        }
        return groups;
    }

    private static void compareGradients(Learner learner, Safetensors expected) {
        learner.weights().parameters().forEach((name, p) -> {
            float[] ours = Tensors.floats(p.grad().div(new Scalar(6.0)));
            assertThat(ours).as(name).usingElementComparator(tolerance(1e-5)).containsExactly(Tensors.floats(expected.floats("grad." + name)));
        });
    }

    private static void compareParameters(Learner learner, Safetensors expected) {
        int entries = 0;
        int off = 0;
        for (Map.Entry<String, Tensor> entry : learner.weights().parameters().entrySet()) {
            float[] ours = Tensors.floats(entry.getValue());
            float[] theirs = Tensors.floats(expected.floats("final." + entry.getKey()));
            for (int i = 0; i < ours.length; i++) {
                assertThat(ours[i]).as("%s[%d]", entry.getKey(), i).isCloseTo(theirs[i], within(1e-4f));
                entries++;
                off += Math.abs(ours[i] - theirs[i]) > 1e-5 ? 1 : 0;
            }
        }
        assertThat((double) off / entries).isLessThanOrEqualTo(0.001);
    }

    private static java.util.Comparator<Float> tolerance(double limit) {
        return (a, b) -> Math.abs(a - b) <= limit ? 0 : Float.compare(a, b);
    }

    private static int[] ints(Tensor longs) {
        return Arrays.stream(Tensors.longs(longs)).mapToInt(Math::toIntExact).toArray();
    }
}
