package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Logits, log-probs and greedy tokens are those of transformers and PEFT, on every path through the decoder. */
@Execution(ExecutionMode.SAME_THREAD)
class ReferenceTest {
    private static final double TOLERANCE = 1e-4;

    static List<Path> models() {
        return Fixtures.models();
    }

    static List<Path> adapters() {
        return Fixtures.adapters();
    }

    @ParameterizedTest
    @MethodSource("models")
    void logitsAndLogProbsOfAWholeForwardAreTheReferences(Path folder) {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(folder); Decoder decoder = new Decoder(model);
                Safetensors expected = Safetensors.open(folder.resolve("expected.safetensors"))) {
            List<int[]> inputs = Fixtures.inputs(expected);
            Tensor hidden = Torch.noGrad(() -> decoder.forward(inputs.stream().map(Sequence::ofBase).toList()));
            int row = 0;
            for (int k = 0; k < inputs.size(); k++) {
                int[] ids = inputs.get(k);
                Tensor own = hidden.narrow(0, row, ids.length);
                assertThat(Fixtures.largestDifference(decoder.logits(own), expected.floats("logits." + k))).isLessThan(TOLERANCE);
                float[] ones = new float[ids.length - 1];
                Arrays.fill(ones, 1f);
                Tensor logProbs = LogProbs.of(decoder, own.narrow(0, 0, ids.length - 1), Arrays.copyOfRange(ids, 1, ids.length), ones);
                assertThat(Fixtures.largestDifference(logProbs, expected.floats("logprobs." + k))).isLessThan(TOLERANCE);
                row += ids.length;
            }
        }
    }

    @ParameterizedTest
    @MethodSource("models")
    void greedyTokensOfWholeForwardsAreTheReferences(Path folder) {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(folder); Decoder decoder = new Decoder(model);
                Safetensors expected = Safetensors.open(folder.resolve("expected.safetensors"))) {
            List<int[]> inputs = Fixtures.inputs(expected);
            for (int k = 0; k < inputs.size(); k++) {
                int[] greedy = Fixtures.ints(expected.longs("greedy." + k));
                List<Integer> tokens = new ArrayList<>(IntStream.of(inputs.get(k)).boxed().toList());
                for (int ignored : greedy) {
                    try (Scope step = new Scope()) {
                        int[] ids = tokens.stream().mapToInt(Integer::intValue).toArray();
                        Tensor hidden = Torch.noGrad(() -> decoder.forward(List.of(Sequence.ofBase(ids))));
                        tokens.add((int) decoder.logits(hidden.narrow(0, ids.length - 1, 1)).argmax().item_long());
                    }
                }
                assertThat(tokens.subList(inputs.get(k).length, tokens.size())).isEqualTo(IntStream.of(greedy).boxed().toList());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("adapters")
    void adaptedLogitsOfAWholeForwardAreTheReferences(Path folder) {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.baseOf(folder)); Decoder decoder = new Decoder(model);
                LoraWeights lora = PeftDirectory.read(folder, model.config());
                Safetensors expected = Safetensors.open(folder.resolve("expected.safetensors"))) {
            List<int[]> inputs = Fixtures.inputs(expected);
            // A row of the base between the adapted ones must change nothing for them.
            List<Sequence> batch = new ArrayList<>();
            inputs.forEach(ids -> {
                batch.add(new Sequence(ids, Optional.of(lora)));
                batch.add(Sequence.ofBase(ids));
            });
            Tensor hidden = Torch.noGrad(() -> decoder.forward(batch));
            int row = 0;
            for (int k = 0; k < inputs.size(); k++) {
                int n = inputs.get(k).length;
                assertThat(Fixtures.largestDifference(decoder.logits(hidden.narrow(0, row, n)), expected.floats("logits." + k))).isLessThan(TOLERANCE);
                row += 2 * n;
            }
        }
    }
}
