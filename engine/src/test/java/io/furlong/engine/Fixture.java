package io.furlong.engine;

import io.furlong.torch.Safetensors;
import io.furlong.torch.Tensors;
import io.furlong.torch.TorchThread;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What transformers and PEFT compute for small random models: the reference fixtures of the torch module. */
final class Fixture {
    static final Path LLAMA = model("llama-gqa");
    static final Path QWEN3 = model("qwen3-headdim");
    static final Path LLAMA_R4 = adapter("llama-all-r4");
    static final Path LLAMA_R2 = adapter("llama-qv-r2-rslora");
    static final Path LLAMA_PATTERNS = adapter("llama-patterns");

    private Fixture() {}

    static Path model(String name) {
        return root().resolve("models").resolve(name);
    }

    static Path adapter(String name) {
        return root().resolve("adapters").resolve(name);
    }

    /**
     * @param input  token ids, shape [T]
     * @param logits shape [T][vocab]
     * @param greedy the greedy continuation; empty for adapters
     */
    record Expected(int[] input, float[][] logits, int[] greedy) {
        /** log p(token | what is before {@code position}) at temperature {@code t}. */
        float logprob(int position, int token, double t) {
            float[] row = logits[position - 1];
            double max = Float.NEGATIVE_INFINITY;
            for (float x : row) {
                max = Math.max(max, x / t);
            }
            double sum = 0;
            for (float x : row) {
                sum += Math.exp(x / t - max);
            }
            return (float) (row[token] / t - max - Math.log(sum));
        }
    }

    static List<Expected> expected(Path directory) {
        try (TorchThread thread = new TorchThread("fixture")) {
            return thread.call(() -> {
                try (Safetensors file = Safetensors.open(directory.resolve("expected.safetensors"))) {
                    List<Expected> all = new ArrayList<>();
                    for (int k = 0; file.names().contains("logits." + k); k++) {
                        int[] input = file.names().contains("input_ids." + k) ? ints(file, "input_ids." + k) : new int[0];
                        float[] flat = Tensors.floats(file.floats("logits." + k));
                        int rows = (int) file.shape("logits." + k)[0];
                        float[][] logits = new float[rows][];
                        for (int r = 0; r < rows; r++) {
                            logits[r] = Arrays.copyOfRange(flat, r * flat.length / rows, (r + 1) * flat.length / rows);
                        }
                        all.add(new Expected(input, logits, file.names().contains("greedy." + k) ? ints(file, "greedy." + k) : new int[0]));
                    }
                    return all;
                }
            });
        }
    }

    private static int[] ints(Safetensors file, String name) {
        return Arrays.stream(Tensors.longs(file.longs(name))).mapToInt(Math::toIntExact).toArray();
    }

    private static Path root() {
        String property = System.getProperty("furlong.fixtures");
        return property != null ? Path.of(property) : Path.of("../torch/src/test/resources/fixtures").toAbsolutePath().normalize();
    }
}
