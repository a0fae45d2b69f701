package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Serving with a cache computes what whole forwards compute, whatever the batch. */
class ServingTest {
    private static final double TOLERANCE = 1e-4;

    static List<Path> models() {
        return Fixtures.models();
    }

    static List<Path> adapters() {
        return Fixtures.adapters();
    }

    @ParameterizedTest
    @MethodSource("models")
    void greedyDecodingWithACacheGivesTheReferencesTokens(Path folder) {
        for (Numerics numerics : Numerics.values()) {
            try (Scope scope = new Scope(); BaseModel model = BaseModel.load(folder); Decoder decoder = new Decoder(model, numerics);
                    KvCache cache = new KvCache(model.config()); Safetensors expected = Safetensors.open(folder.resolve("expected.safetensors"))) {
                List<int[]> inputs = Fixtures.inputs(expected);
                List<Chunk> chunks = IntStream.range(0, inputs.size()).mapToObj(k -> new Chunk(k, 0, inputs.get(k), Optional.empty())).toList();
                Tensor hidden = decoder.prefill(cache, chunks);
                int[] tokens = new int[inputs.size()];
                int[] positions = new int[inputs.size()];
                int row = 0;
                for (int k = 0; k < tokens.length; k++) {
                    int n = inputs.get(k).length;
                    assertThat(Fixtures.largestDifference(decoder.logits(hidden.narrow(0, row, n)), expected.floats("logits." + k))).isLessThan(TOLERANCE);
                    row += n;
                    tokens[k] = argmax(decoder.logits(hidden.narrow(0, row - 1, 1)), 0);
                    positions[k] = n;
                }
                List<Optional<LoraWeights>> base = Collections.nCopies(tokens.length, Optional.empty());
                List<int[]> greedy = IntStream.range(0, tokens.length).mapToObj(k -> Fixtures.ints(expected.longs("greedy." + k))).toList();
                for (int step = 0; step < greedy.getFirst().length; step++) {
                    for (int k = 0; k < tokens.length; k++) {
                        assertThat(tokens[k]).as("sequence %d step %d", k, step).isEqualTo(greedy.get(k)[step]);
                    }
                    Tensor logits = decoder.logits(decoder.decode(cache, tokens, positions, base));
                    for (int k = 0; k < tokens.length; k++) {
                        tokens[k] = argmax(logits, k);
                        positions[k]++;
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("adapters")
    void adaptedLogitsOfPrefillAndDecodeAreTheReferences(Path folder) {
        for (Numerics numerics : Numerics.values()) {
            try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.baseOf(folder)); Decoder decoder = new Decoder(model, numerics);
                    KvCache cache = new KvCache(model.config()); LoraWeights lora = PeftDirectory.read(folder, model.config());
                    LoraWeights other = noisy(model, 3);
                    Safetensors expected = Safetensors.open(folder.resolve("expected.safetensors"))) {
                int[] ids = Fixtures.inputs(expected).get(1);
                Tensor reference = expected.floats("logits.1");
                // Three rows: the adapter, the base, another adapter of another rank. The first half is prefilled, the rest decoded token by token.
                List<Optional<LoraWeights>> loras = List.of(Optional.of(lora), Optional.empty(), Optional.of(other));
                int half = ids.length / 2;
                List<Chunk> chunks = IntStream.range(0, 3).mapToObj(row -> new Chunk(row, 0, Arrays.copyOf(ids, half), loras.get(row))).toList();
                Tensor hidden = decoder.prefill(cache, chunks);
                assertThat(Fixtures.largestDifference(decoder.logits(hidden.narrow(0, 0, half)), reference.narrow(0, 0, half))).isLessThan(TOLERANCE);
                for (int t = half; t < ids.length; t++) {
                    int[] tokens = {ids[t], ids[t], ids[t]};
                    int[] positions = {t, t, t};
                    Tensor logits = decoder.logits(decoder.decode(cache, tokens, positions, loras));
                    assertThat(Fixtures.largestDifference(logits.narrow(0, 0, 1), reference.narrow(0, t, 1))).isLessThan(TOLERANCE);
                    assertThat(Fixtures.largestDifference(logits.narrow(0, 1, 1), reference.narrow(0, t, 1))).isGreaterThan(TOLERANCE);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Numerics.class)
    void chunkedPrefillAndReusedPrefixesGiveWhatOnePrefillGives(Numerics numerics) {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.models().getFirst()); Decoder decoder = new Decoder(model, numerics);
                KvCache cache = new KvCache(model.config())) {
            int[] ids = tokens(new Random(1), 41, model);
            Tensor whole = decoder.prefill(cache, List.of(new Chunk(0, 0, ids, Optional.empty())));
            try (KvPrefix prefix = cache.prefix(0, 17)) {
                cache.load(prefix, 13, 2);
                cache.copy(0, 1, 29);
                Tensor fromPrefix = decoder.prefill(cache, List.of(new Chunk(2, 13, Arrays.copyOfRange(ids, 13, 41), Optional.empty())));
                Tensor fromRow = decoder.prefill(cache, List.of(new Chunk(1, 29, Arrays.copyOfRange(ids, 29, 41), Optional.empty())));
                double tolerance = numerics == Numerics.DETERMINISTIC ? 0 : TOLERANCE;
                assertThat(Fixtures.largestDifference(fromPrefix, whole.narrow(0, 13, 28))).isLessThanOrEqualTo(tolerance);
                assertThat(Fixtures.largestDifference(fromRow, whole.narrow(0, 29, 12))).isLessThanOrEqualTo(tolerance);
            }
        }
    }

    @Test
    void inAMixedBatchEachSequenceGetsWhatItGetsAlone() {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.models().getFirst())) {
            Random random = new Random(3);
            List<Case> cases = cases(model, random, 24);
            assertThat(RowGroups.of(cases.stream().map(Case::lora).toList()).areEven()).isTrue();
            double largest = 0;
            for (int i = 0; i < cases.size(); i += 5) {
                largest = Math.max(largest, Fixtures.largestDifference(serve(model, Numerics.FAST, List.of(cases.get(i))).getFirst(),
                        serve(model, Numerics.FAST, cases).get(i)));
            }
            assertThat(largest).isLessThan(TOLERANCE);
            cases.forEach(c -> c.lora.ifPresent(LoraWeights::close));
        }
    }

    @Test
    void inTheDeterministicSettingTheBitsOfASequenceDependOnNothingElse() {
        for (Path folder : Fixtures.models()) {
            try (Scope scope = new Scope(); BaseModel model = BaseModel.load(folder)) {
                Random random = new Random(4);
                List<Case> cases = cases(model, random, 21);
                List<Tensor> together = serve(model, Numerics.DETERMINISTIC, cases);
                List<Integer> order = new ArrayList<>(IntStream.range(0, cases.size()).boxed().toList());
                Collections.shuffle(order, random);
                List<Tensor> shuffled = serve(model, Numerics.DETERMINISTIC, order.stream().map(cases::get).toList());
                for (int i = 0; i < cases.size(); i++) {
                    assertThat(Tensors.floats(shuffled.get(order.indexOf(i)))).as("%s sequence %d in another order", folder, i).isEqualTo(Tensors.floats(together.get(i)));
                    assertThat(Tensors.floats(serve(model, Numerics.DETERMINISTIC, List.of(cases.get(i))).getFirst())).as("%s sequence %d alone", folder, i)
                            .isEqualTo(Tensors.floats(together.get(i)));
                }
                cases.forEach(c -> c.lora.ifPresent(LoraWeights::close));
            }
        }
    }

    @Test
    void theBitsOfATokenAreTheSameWhetherItWasPrefilledOrDecodedInTheDeterministicSetting() {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.models().getFirst());
                Decoder decoder = new Decoder(model, Numerics.DETERMINISTIC); KvCache cache = new KvCache(model.config())) {
            int[] ids = tokens(new Random(1), 70, model);
            Tensor whole = decoder.prefill(cache, List.of(new Chunk(0, 0, ids, Optional.empty())));
            for (int t = 0; t < ids.length; t++) {
                Tensor decoded = decoder.decode(cache, new int[] {ids[t]}, new int[] {t}, List.of(Optional.empty()));
                assertThat(Tensors.floats(decoded)).isEqualTo(Tensors.floats(whole.narrow(0, t, 1)));
            }
        }
    }

    /** What the deterministic setting rests on; OpenBLAS picks its kernels by processor. */
    @ParameterizedTest
    @CsvSource({"128, 256", "128, 768", "384, 128", "128, 80", "576, 960", "576, 3072", "1536, 576", "128, 8", "8, 768", "64, 5", "5, 64"})
    void inAProductOfEightRowsARowsBitsDependNeitherOnItsPlaceNorOnTheOthers(int in, int out) {
        try (Scope scope = new Scope()) {
            Tensor weight = torch.randn(out, in);
            Tensor row = torch.randn(1, in);
            float[] first = {};
            for (int place = 0; place < Decoder.TILE; place++) {
                Tensor tile = torch.randn(Decoder.TILE, in);
                tile.narrow(0, place, 1).copy_(row);
                float[] own = Tensors.floats(torch.linear(tile, weight).narrow(0, place, 1));
                first = place == 0 ? own : first;
                assertThat(own).as("place %d", place).isEqualTo(first);
            }
        }
    }

    @Test
    void unevenGroupsOfAdaptersGetWhatEvenOnesGet() {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.models().getFirst())) {
            List<Case> few = cases(model, new Random(5), 48);
            // One adapter has most of the rows, so that the groups are computed one by one.
            List<Case> uneven = IntStream.range(0, 48).mapToObj(i -> i % 6 == 1 ? few.get(i) : new Case(few.get(i).tokens, few.get(i).prompt, few.getFirst().lora)).toList();
            assertThat(RowGroups.of(uneven.stream().map(Case::lora).toList()).areEven()).isFalse();
            List<Tensor> together = serve(model, Numerics.FAST, uneven);
            for (int i = 0; i < uneven.size(); i++) {
                assertThat(Fixtures.largestDifference(together.get(i), serve(model, Numerics.FAST, List.of(uneven.get(i))).getFirst())).isLessThan(TOLERANCE);
            }
            few.forEach(c -> c.lora.ifPresent(LoraWeights::close));
        }
    }

    private record Case(int[] tokens, int prompt, Optional<LoraWeights> lora) {}

    /** Random sequences of random lengths, some of the base, some of three adapters of ranks 2, 5 and 8. */
    private static List<Case> cases(BaseModel model, Random random, int n) {
        List<LoraWeights> loras = IntStream.of(2, 5, 8).mapToObj(rank -> noisy(model, rank)).toList();
        return IntStream.range(0, n).mapToObj(i -> {
            int prompt = 1 + random.nextInt(30);
            return new Case(tokens(random, prompt + 6, model), prompt, i % 4 == 3 ? Optional.<LoraWeights>empty() : Optional.of(loras.get(i % 4)));
        }).toList();
    }

    /** Prefills each case's prompt, then feeds the rest as decode steps; logits of the last step, {@code [1, vocab]} each. */
    private static List<Tensor> serve(BaseModel model, Numerics numerics, List<Case> cases) {
        try (Decoder decoder = new Decoder(model, numerics); KvCache cache = new KvCache(model.config())) {
            decoder.prefill(cache, IntStream.range(0, cases.size())
                    .mapToObj(i -> new Chunk(i, 0, Arrays.copyOf(cases.get(i).tokens, cases.get(i).prompt), cases.get(i).lora)).toList());
            Tensor logits = null;
            for (int step = 0; step < 6; step++) {
                int t = step;
                logits = decoder.logits(decoder.decode(cache, cases.stream().mapToInt(c -> c.tokens[c.prompt + t]).toArray(),
                        cases.stream().mapToInt(c -> c.prompt + t).toArray(), cases.stream().map(Case::lora).toList()));
            }
            Tensor last = logits;
            return IntStream.range(0, cases.size()).mapToObj(i -> last.narrow(0, i, 1)).toList();
        }
    }

    private static int[] tokens(Random random, int n, BaseModel model) {
        return random.ints(n, 0, model.config().vocabSize()).toArray();
    }

    /** A frozen adapter of all projections that does something. */
    private static LoraWeights noisy(BaseModel model, int rank) {
        Random random = new Random(rank);
        try (LoraWeights lora = LoraWeights.init(model.config(), LoraSpec.allLinear(rank, 8), rank)) {
            Torch.noGrad(() -> lora.parameters().values().forEach(t -> {
                try (Scope scope = new Scope()) {
                    float[] values = new float[(int) t.numel()];
                    for (int i = 0; i < values.length; i++) {
                        values[i] = (float) (0.1 * random.nextGaussian());
                    }
                    t.copy_(Tensor.create(values, t.shape()));
                }
            }));
            return lora.frozenCopy();
        }
    }

    private static int argmax(Tensor logits, int row) {
        try (Scope scope = new Scope()) {
            return (int) logits.narrow(0, row, 1).argmax().item_long();
        }
    }
}
