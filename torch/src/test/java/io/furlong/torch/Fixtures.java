package io.furlong.torch;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;

/**
 * What transformers and PEFT compute for small random models, in the folder that the system property {@code furlong.fixtures} names, else in the test resources.
 * A folder holds {@code models/*} and {@code adapters/*}, each with an {@code expected.safetensors}.
 */
final class Fixtures {
    private Fixtures() {}

    static Path root() {
        String property = System.getProperty("furlong.fixtures");
        return property != null ? Path.of(property) : own();
    }

    /** The folder in the test resources, for tests that need one model or adapter by name. */
    static Path own() {
        try {
            return Path.of(Fixtures.class.getResource("/fixtures").toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    static List<Path> models() {
        return list(root().resolve("models"));
    }

    static List<Path> adapters() {
        return list(root().resolve("adapters"));
    }

    /** The model folder that an adapter was made for. */
    static Path baseOf(Path adapter) {
        try {
            String name = new com.fasterxml.jackson.databind.ObjectMapper().readTree(adapter.resolve("adapter_config.json").toFile())
                    .get("base_model_name_or_path").asText();
            return root().resolve("models").resolve(Path.of(name).getFileName());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** One input sequence with what the reference made of it, for every {@code input_ids.K} there is. */
    static List<int[]> inputs(Safetensors expected) {
        return expected.names().stream().filter(n -> n.startsWith("input_ids.")).sorted().map(n -> ints(expected.longs(n))).toList();
    }

    static int[] ints(Tensor longs) {
        return java.util.Arrays.stream(Tensors.longs(longs)).mapToInt(Math::toIntExact).toArray();
    }

    static double largestDifference(Tensor a, Tensor b) {
        float[] x = Tensors.floats(a);
        float[] y = Tensors.floats(b);
        if (x.length != y.length) {
            throw new AssertionError("shapes differ: " + java.util.Arrays.toString(a.shape()) + " and " + java.util.Arrays.toString(b.shape()));
        }
        double largest = 0;
        for (int i = 0; i < x.length; i++) {
            double difference = Math.abs(x[i] - y[i]);
            if (Double.isNaN(difference)) {
                return Double.NaN;
            }
            largest = Math.max(largest, difference);
        }
        return largest;
    }

    private static List<Path> list(Path folder) {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.filter(Files::isDirectory).sorted().toList();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
