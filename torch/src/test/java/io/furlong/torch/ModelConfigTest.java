package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** config.json in either spelling gives the same model; what we write reads back as it was. */
class ModelConfigTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    @TempDir Path temp;

    static List<Path> models() {
        return Fixtures.models();
    }

    @ParameterizedTest
    @MethodSource("models")
    void theOlderSpellingOfRopeMeansTheSame(Path folder) throws IOException {
        ObjectNode root = (ObjectNode) JSON.readTree(folder.resolve("config.json").toFile());
        ObjectNode rope = (ObjectNode) root.remove("rope_parameters");
        root.set("rope_theta", rope.remove("rope_theta"));
        if (rope.path("rope_type").asText().equals("default")) {
            root.putNull("rope_scaling");
        } else {
            rope.set("type", rope.remove("rope_type"));
            root.set("rope_scaling", rope);
        }
        JSON.writeValue(temp.resolve("config.json").toFile(), root);
        assertThat(ModelConfig.read(temp)).isEqualTo(ModelConfig.read(folder));
    }

    @ParameterizedTest
    @MethodSource("models")
    void whatIsWrittenReadsBackTheSame(Path folder) {
        ModelConfig config = ModelConfig.read(folder);
        config.write(temp);
        assertThat(ModelConfig.read(temp)).isEqualTo(config);
    }

    @Test
    void endTokensComeFromTheGenerationConfigFirst() throws IOException {
        Path folder = Fixtures.own().resolve("models/llama-gqa");
        ObjectNode root = (ObjectNode) JSON.readTree(folder.resolve("config.json").toFile());
        root.put("eos_token_id", 5);
        JSON.writeValue(temp.resolve("config.json").toFile(), root);
        assertThat(ModelConfig.read(temp).eosTokenIds()).containsExactly(5);
        Files.writeString(temp.resolve("generation_config.json"), "{\"eos_token_id\": [7, 9]}");
        assertThat(ModelConfig.read(temp).eosTokenIds()).containsExactly(7, 9);
    }

    @Test
    void dynamicRopeIsTheUnscaledOneWithinTheOriginalContext() {
        Rope plain = new Rope(10_000, new Rope.None());
        assertThat(new Rope(10_000, new Rope.Dynamic(4)).frequencies(64)).isEqualTo(plain.frequencies(64));
        assertThat(new Rope(10_000, new Rope.Linear(4)).frequencies(64)[0]).isCloseTo(0.25f, within(1e-7f));
        assertThat(new Rope(10_000, new Rope.Dynamic(4)).attentionFactor()).isEqualTo(1);
    }
}
