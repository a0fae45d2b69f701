package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Native objects and memory stay level over thousands of steps of training, serving, publishing and unloading. */
class SoakTest {

    @Test
    void nativeObjectsAndMemoryStayLevelOverTwoThousandSteps() throws IOException {
        soak(2_000);
    }

    @Test
    @Tag("slow")
    void nativeObjectsAndMemoryStayLevelOverAHundredThousandSteps() throws IOException {
        soak(100_000);
    }

    private static void soak(int steps) throws IOException {
        try (TorchThread thread = new TorchThread("soak")) {
            long[] before = new long[2];
            BaseModel model = thread.call(() -> BaseModel.load(Fixtures.own().resolve("models/llama-gqa")));
            Decoder decoder = thread.call(() -> new Decoder(model));
            Decoder deterministic = thread.call(() -> new Decoder(model, Numerics.DETERMINISTIC));
            LoraWeights live = thread.call(() -> LoraWeights.init(model.config(), LoraSpec.allLinear(4, 8), 1));
            Random random = new Random(1);
            for (int i = 0; i < steps; i++) {
                if (i == steps / 4) {
                    before[0] = Pointer.totalCount();
                    before[1] = residentBytes();
                }
                thread.run(() -> {
                    if (random.nextInt(3) > 0) {
                        train(decoder, live, random);
                    } else {
                        serve(random.nextInt(8) == 0 ? deterministic : decoder, live, random);
                    }
                });
            }
            thread.run(() -> assertThat(Pointer.totalCount()).isLessThanOrEqualTo(before[0] + 50));
            assertThat(residentBytes() - before[1]).as("growth of resident memory").isLessThan(64L << 20);
            thread.run(() -> {
                live.close();
                deterministic.close();
                decoder.close();
                model.close();
            });
            assertThat(Pointer.totalCount()).as("what is left when all owners are closed").isLessThan(before[0] / 2);
        }
    }

    private static void train(Decoder decoder, LoraWeights live, Random random) {
        List<Sequence> batch = List.of(Sequence.of(live, tokens(random, 12)), Sequence.of(live, tokens(random, 3 + random.nextInt(20))), Sequence.ofBase(tokens(random, 9)));
        int rows = Sequence.rows(batch);
        float[] ones = new float[rows];
        Arrays.fill(ones, 1f);
        LogProbs.of(decoder, decoder.forward(batch), tokens(random, rows), ones).mean().backward();
        live.parameters().values().forEach(t -> t.mutable_grad().reset());
    }

    private static void serve(Decoder decoder, LoraWeights live, Random random) {
        try (KvCache cache = new KvCache(decoder.model().config()); LoraWeights published = live.frozenCopy()) {
            int n = 1 + random.nextInt(5);
            List<Optional<LoraWeights>> loras = new ArrayList<>();
            IntStream.range(0, n).forEach(i -> loras.add(i % 2 == 0 ? Optional.of(published) : Optional.empty()));
            decoder.prefill(cache, IntStream.range(0, n).mapToObj(i -> new Chunk(i, 0, tokens(random, 10), loras.get(i))).toList());
            try (KvPrefix prefix = cache.prefix(0, 7)) {
                cache.load(prefix, 5, n);
            }
            int[] positions = new int[n];
            Arrays.fill(positions, 10);
            Tensor logits = decoder.logits(decoder.decode(cache, tokens(random, n), positions, loras));
            assertThat(Tensors.floats(logits)).hasSize(n * 96);
        }
    }

    private static int[] tokens(Random random, int n) {
        return random.ints(n, 0, 96).toArray();
    }

    private static long residentBytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(l -> l.startsWith("VmRSS"))
                .mapToLong(l -> Long.parseLong(l.replaceAll("\\D", "")) << 10).findFirst().orElseThrow();
    }
}
