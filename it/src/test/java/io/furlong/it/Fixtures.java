package io.furlong.it;

import java.nio.file.Path;

/** The small random models and adapters of the torch module's tests. */
final class Fixtures {
    static final Path LLAMA = root().resolve("models").resolve("llama-gqa");
    static final Path LLAMA_ALL_R4 = adapter("llama-all-r4");
    static final Path LLAMA_QV_R2 = adapter("llama-qv-r2-rslora");
    static final Path LLAMA_PATTERNS = adapter("llama-patterns");

    private Fixtures() {}

    private static Path adapter(String name) {
        return root().resolve("adapters").resolve(name);
    }

    private static Path root() {
        String property = System.getProperty("furlong.fixtures");
        return property != null ? Path.of(property) : Path.of("../torch/src/test/resources/fixtures").toAbsolutePath().normalize();
    }
}
