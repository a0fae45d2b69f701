package io.furlong.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/** Measures by hand: {@code Speed tiny|135m decode|train|prefill THREADS ADAPTERS BATCH}. */
final class Speed {
    private Speed() {}

    static ModelConfig shape(String name) {
        return name.equals("tiny")
                ? new ModelConfig(ModelConfig.Family.LLAMA, 80, 128, 384, 4, 4, 2, 32, 1e-5, ModelConfig.Biases.NONE, ModelConfig.HeadNorm.NONE,
                        ModelConfig.Embeddings.TIED, 1024, new Rope(10000, new Rope.None()), List.of())
                : new ModelConfig(ModelConfig.Family.LLAMA, 49152, 576, 1536, 30, 9, 3, 64, 1e-5, ModelConfig.Biases.NONE, ModelConfig.HeadNorm.NONE,
                        ModelConfig.Embeddings.TIED, 2048, new Rope(10000, new Rope.None()), List.of());
    }

    public static void main(String[] args) throws Exception {
        Torch.useThreads(Integer.parseInt(args[2]));
        int adapters = Integer.parseInt(args[3]);
        int batch = Integer.parseInt(args[4]);
        try (TorchThread thread = new TorchThread("speed")) {
            thread.run(() -> {
                BaseModel model = BaseModel.random(shape(args[0]), 1);
                List<LoraWeights> loras = IntStream.range(0, adapters).mapToObj(i -> LoraWeights.init(model.config(),
                        new LoraSpec(8, 8, LoraSpec.Scaling.STANDARD, EnumSet.allOf(Projection.class)), i)).toList();
                switch (args[1]) {
                    case "decode" -> decode(model, loras.stream().map(LoraWeights::frozenCopy).toList(), batch, args[0].equals("tiny") ? 64 : 6);
                    case "train" -> train(model, loras, batch, args[0].equals("tiny") ? 6 : 1);
                    default -> throw new IllegalArgumentException(args[1]);
                }
            });
        }
    }

    private static void decode(BaseModel model, List<LoraWeights> loras, int batch, int steps) {
        try (Decoder decoder = new Decoder(model); KvCache cache = new KvCache(model.config())) {
            List<Optional<LoraWeights>> rows = IntStream.range(0, batch)
                    .mapToObj(i -> loras.isEmpty() ? Optional.<LoraWeights>empty() : Optional.of(loras.get(i * loras.size() / batch))).toList();
            Random random = new Random(1);
            int context = 64;
            try (Scope scope = new Scope()) {
                decoder.prefill(cache, IntStream.range(0, batch).mapToObj(i -> new Chunk(i, 0, random.ints(context, 0, model.config().vocabSize()).toArray(), rows.get(i))).toList());
            }
            List<Double> rates = new ArrayList<>();
            for (int repeat = 0; repeat < (steps > 30 ? 16 : 3); repeat++) {
                int[] tokens = random.ints(batch, 0, model.config().vocabSize()).toArray();
                int[] positions = new int[batch];
                Arrays.fill(positions, context);
                long start = now();
                for (int step = 0; step < steps; step++) {
                    try (Scope scope = new Scope()) {
                        Tensor logits = decoder.logits(decoder.decode(cache, tokens, positions, rows));
                        long[] next = Tensors.longs(logits.argmax(new org.bytedeco.pytorch.LongOptional(1), false));
                        for (int i = 0; i < batch; i++) {
                            tokens[i] = (int) next[i];
                            positions[i]++;
                        }
                    }
                }
                rates.add(batch * (double) steps / (now() - start) * 1e9);
            }
            report("decode", rates);
        }
    }

    private static void train(BaseModel model, List<LoraWeights> loras, int batch, int steps) {
        try (Decoder decoder = new Decoder(model)) {
            Random random = new Random(1);
            int length = 64;
            List<Sequence> sequences = IntStream.range(0, batch).mapToObj(i -> new Sequence(random.ints(length, 0, model.config().vocabSize()).toArray(),
                    loras.isEmpty() ? Optional.empty() : Optional.of(loras.get(i * loras.size() / batch)))).toList();
            int[] targets = random.ints(batch * length, 0, model.config().vocabSize()).toArray();
            float[] ones = new float[targets.length];
            Arrays.fill(ones, 1f);
            List<Double> rates = new ArrayList<>();
            for (int repeat = 0; repeat < (steps > 2 ? 8 : 2); repeat++) {
                long start = now();
                for (int step = 0; step < steps; step++) {
                    try (Scope scope = new Scope()) {
                        LogProbs.of(decoder, decoder.forward(sequences), targets, ones).mean().neg().backward();
                    }
                }
                rates.add(batch * (double) length * steps / (now() - start) * 1e9);
            }
            report("train", rates);
        }
    }

    /** CPU time of this thread where one thread works: a busy machine disturbs it less than the wall clock. */
    private static long now() {
        return Torch.threads() == 1 ? java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() : System.nanoTime();
    }

    private static void report(String what, List<Double> rates) {
        List<Double> sorted = rates.subList(rates.size() / 2, rates.size()).stream().sorted().toList();
        System.out.printf("%s median %.0f best %.0f tok/s  (all %s)%n", what, sorted.get(sorted.size() / 2), sorted.getLast(),
                rates.stream().map(r -> String.format("%.0f", r)).toList());
    }
}
