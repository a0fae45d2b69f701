package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.sglang.testing.AdapterFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PeftDirectoryTest {
    @TempDir
    Path root;
    private Path directory;

    @BeforeEach
    void write() throws IOException {
        directory = root.resolve("adapter");
        AdapterFiles.write(directory, 4, 0, "s");
    }

    private List<String> problems() {
        return PeftDirectory.problems(directory, 4, Rig.SHAPE);
    }

    @Test
    void aGoodDirectoryHasNone() {
        assertThat(problems()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
        "\"peft_type\":\"LORA\" | \"peft_type\":\"IA3\" | peft_type",
        "\"r\":4 | \"r\":8 | registered with rank 4",
        "\"lora_alpha\":4 | \"lora_alpha\":null | lora_alpha",
        "\"lora_alpha\":4 | \"alpha\":4 | lora_alpha",
        "\"use_dora\":false | \"use_dora\":true | use_dora",
        "\"use_rslora\":false | \"use_rslora\":true | use_rslora",
        "\"rank_pattern\":{} | \"rank_pattern\":{\"q_proj\":8} | rank_pattern",
        "[\"q_proj\",\"v_proj\"] | \".*proj\" | target_modules"})
    void whatSglangWouldIgnoreOrRefuseIsNamed(String from, String to, String named) throws IOException {
        Path config = directory.resolve("adapter_config.json");
        String text = Files.readString(config);
        assertThat(text).contains(from.strip());
        Files.writeString(config, text.replace(from.strip(), to.strip()));
        assertThat(problems()).singleElement().asString().contains(named.strip()).contains("adapter_config.json");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "layers.0.self_attn.q_proj.lora_A | layers.9.self_attn.q_proj.lora_A | belongs to no linear layer",
        "layers.0.self_attn.q_proj.lora_A | layers.0.self_attn.x_proj.lora_A | belongs to no linear layer",
        "model.layers.0.self_attn.q_proj.lora_A.weight | model.embed_tokens.layer_.lora_A.weights.bias | belongs to no linear layer",
        "layers.0.self_attn.q_proj.lora_B | layers.0.self_attn.o_proj.lora_B | has no counterpart",
        "[4,16] | [16,4] | must be [4,16]"})
    void aTensorThatDoesNotFitIsNamedBeforeAnEngineDiesOfIt(String from, String to, String named) throws IOException {
        Path weights = directory.resolve("adapter_model.safetensors");
        String text = Files.readString(weights, StandardCharsets.ISO_8859_1);
        assertThat(text).contains(from.strip());
        int at = text.indexOf(from.strip());
        assertThat(to.strip()).hasSameSizeAs(from.strip());
        Files.writeString(weights, text.substring(0, at) + to.strip() + text.substring(at + from.strip().length()), StandardCharsets.ISO_8859_1);
        assertThat(problems()).anySatisfy(p -> assertThat(p).contains(named.strip()));
    }

    @Test
    void layersThatSglangFusesMustComeTogether() throws IOException {
        Path weights = directory.resolve("adapter_model.safetensors");
        String text = Files.readString(weights, StandardCharsets.ISO_8859_1);
        Files.writeString(weights, text.replace("layers.1.self_attn.v_proj", "layers.1.self_attn.o_proj"), StandardCharsets.ISO_8859_1);
        assertThat(problems()).singleElement().asString().contains("layer 1").contains("v_proj").contains("together");
    }

    @Test
    void aMissingFileIsOneLine() throws IOException {
        Files.delete(directory.resolve("adapter_model.safetensors"));
        assertThat(problems()).singleElement().asString().contains("adapter_model.safetensors");
    }
}
