package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What cannot be loaded rightly is refused in one line that names the file and what is wrong in it. */
class RefusalTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    @TempDir Path temp;

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{\"model_type\": \"gpt2\"}                                             | model_type \"gpt2\" is not supported",
        "{\"architectures\": [\"LlamaForSequenceClassification\"]}              | architecture \"LlamaForSequenceClassification\" is not supported",
        "{\"layer_types\": [\"full_attention\", \"sliding_attention\"]}         | sliding window attention",
        "{\"model_type\": \"mistral\", \"architectures\": [\"MistralForCausalLM\"], \"sliding_window\": 128} | sliding window attention (sliding_window = 128)",
        "{\"attn_logit_softcapping\": 50.0}                                     | logit soft-capping (attn_logit_softcapping = 50.0)",
        "{\"final_logit_softcapping\": 30.0}                                    | logit soft-capping (final_logit_softcapping = 30.0)",
        "{\"partial_rotary_factor\": 0.5}                                       | partial rotary embedding (partial_rotary_factor = 0.5)",
        "{\"rope_parameters\": {\"rope_type\": \"longrope\", \"rope_theta\": 10000.0}} | rope type \"longrope\" is not supported",
        "{\"rope_parameters\": {\"rope_type\": \"linear\", \"rope_theta\": 10000.0}}   | rope type linear needs a number factor",
        "{\"hidden_act\": \"gelu\"}                                             | the activation (hidden_act = \"gelu\")",
        "{\"quantization_config\": {\"bits\": 4}}                               | quantization_config is set",
        "{\"hidden_size\": \"large\"}                                           | hidden_size is \"large\", must be a whole number",
        "{\"num_key_value_heads\": 3}                                           | num_attention_heads 4 is not a multiple of num_key_value_heads 3",
        "{\"head_dim\": 15}                                                     | head_dim 15 is odd"})
    void aModelThatWouldBeComputedWrongly(String change, String message) throws IOException {
        Path folder = modelWith(config -> config.setAll((ObjectNode) parse(change)));
        assertRefused(() -> BaseModel.load(folder), folder.resolve("config.json") + ": ", message);
    }

    @Test
    void aModelFolderWithoutConfigOrWeights() throws IOException {
        assertRefused(() -> BaseModel.load(temp), temp.resolve("config.json").toString(), "no such file");
        Path folder = modelWith(_ -> {});
        Files.delete(folder.resolve("model.safetensors"));
        assertRefused(() -> BaseModel.load(folder), folder.toString(), "neither model.safetensors nor model.safetensors.index.json is there");
    }

    @Test
    void aTruncatedFile() throws IOException {
        Path folder = modelWith(_ -> {});
        Path file = folder.resolve("model.safetensors");
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {0, 7, 8, 100, whole.length / 2, whole.length - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertRefused(() -> BaseModel.load(folder), file + ": ", "");
        }
        Files.write(file, Arrays.copyOf(whole, whole.length - 1));
        assertRefused(() -> BaseModel.load(folder), "tensor ", "the file is truncated");
    }

    @Test
    void aBrokenHeader() throws IOException {
        Path folder = modelWith(_ -> {});
        Path file = folder.resolve("model.safetensors");
        for (String header : new String[] {"not json", "[1, 2]", "{\"a\": 3}", "{\"a\": {\"dtype\": \"F32\", \"shape\": [-1], \"data_offsets\": [0, 4]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 4]}}", "{\"a\": {\"dtype\": \"F4\", \"shape\": [1], \"data_offsets\": [0, 4]}}",
                "{\"a\": {\"dtype\": \"F32\", \"shape\": [4611686018427387904, 4], \"data_offsets\": [0, 4]}}"}) {
            byte[] json = header.getBytes(StandardCharsets.UTF_8);
            Files.write(file, ByteBuffer.allocate(12 + json.length).order(ByteOrder.LITTLE_ENDIAN).putLong(json.length).put(json).array());
            assertRefused(() -> BaseModel.load(folder), file + ": ", "");
        }
    }

    @Test
    void aMissingExtraOrMisshapenTensor() throws IOException {
        assertRefused(() -> BaseModel.load(modelWithTensors(t -> t.remove("model.layers.1.mlp.up_proj.weight"))),
                "model.safetensors: ", "tensor model.layers.1.mlp.up_proj.weight is missing");
        assertRefused(() -> BaseModel.load(modelWithTensors(t -> t.put("model.layers.2.mlp.up_proj.weight", torch.zeros(2)))),
                "model.safetensors: ", "tensor model.layers.2.mlp.up_proj.weight is not part of a llama model with 2 layers");
        assertRefused(() -> BaseModel.load(modelWithTensors(t -> t.put("model.layers.0.self_attn.q_proj.bias", torch.zeros(64)))),
                "model.safetensors: ", "tensor model.layers.0.self_attn.q_proj.bias is not part");
        assertRefused(() -> BaseModel.load(modelWithTensors(t -> t.put("model.norm.weight", torch.zeros(3)))),
                "model.safetensors: ", "tensor model.norm.weight has shape [3], must be [64]");
    }

    @Test
    void aShardThatIsNotThereOrLacksATensor() throws IOException {
        Path folder = copy(Fixtures.own().resolve("models/qwen2-yarn-sharded-f16"), "sharded");
        Path index = folder.resolve("model.safetensors.index.json");
        ObjectNode root = (ObjectNode) JSON.readTree(index.toFile());
        ((ObjectNode) root.get("weight_map")).put("model.norm.weight", "model-00001-of-00003.safetensors");
        JSON.writeValue(index.toFile(), root);
        assertRefused(() -> BaseModel.load(folder), "model-00001-of-00003.safetensors: ", "tensor model.norm.weight is missing, but the index places it there");
        Files.delete(folder.resolve("model-00002-of-00003.safetensors"));
        assertRefused(() -> BaseModel.load(folder), "model-00002-of-00003.safetensors: ", "no such file");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{\"peft_type\": \"LOHA\"}               | peft_type is \"LOHA\", must be LORA",
        "{\"use_dora\": true}                    | use_dora = true is not supported",
        "{\"bias\": \"all\"}                     | bias = \"all\" is not supported",
        "{\"lora_bias\": true}                   | lora_bias = true is not supported",
        "{\"fan_in_fan_out\": true}              | fan_in_fan_out = true is not supported",
        "{\"modules_to_save\": [\"lm_head\"]}    | modules_to_save = [\"lm_head\"] is not supported",
        "{\"init_lora_weights\": \"pissa\"}   | init_lora_weights = \"pissa\" changes the base weights",
        "{\"r\": null}                           | r and lora_alpha must be numbers",
        "{\"r\": 5}                              | has shape [4, 64], must be [5, 64]",
        "{\"target_modules\": [\"q_proj\", \"w1\"]} | target_modules names w1"})
    void anAdapterThatWouldBeAppliedWrongly(String change, String message) throws IOException {
        Path folder = copy(Fixtures.own().resolve("adapters/llama-all-r4"), "adapter");
        change(folder.resolve("adapter_config.json"), config -> config.setAll((ObjectNode) parse(change)));
        assertRefused(() -> PeftDirectory.read(folder, llama()), folder.toString(), message);
    }

    @Test
    void anAdapterOfAnotherModel() throws IOException {
        ModelConfig other = ModelConfig.read(Fixtures.own().resolve("models/qwen2-tied"));
        Path adapter = Fixtures.own().resolve("adapters/llama-all-r4");
        assertRefused(() -> PeftDirectory.read(adapter, other), "adapter_model.safetensors: ", "has shape");

        Path none = adapterWithTensors(tensors -> {
            Tensor first = tensors.firstEntry().getValue();
            tensors.clear();
            tensors.put("base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", first);
        });
        assertRefused(() -> PeftDirectory.read(none, llama()), "adapter_model.safetensors: ",
                "none of its 1 tensors matches a linear layer of a llama model with 2 layers; the first is base_model.model.transformer.h.0");

        Path some = adapterWithTensors(tensors -> {
            tensors.put("base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight", torch.zeros(4, 64));
            tensors.put("base_model.model.lm_head.lora_A.weight", torch.zeros(4, 64));
        });
        assertRefused(() -> PeftDirectory.read(some, llama()), "2 tensors match no linear layer",
                "base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight, base_model.model.lm_head.lora_A.weight");

        Path half = adapterWithTensors(tensors -> tensors.remove("base_model.model.model.layers.1.mlp.up_proj.lora_B.weight"));
        assertRefused(() -> PeftDirectory.read(half, llama()), "adapter_model.safetensors: ", "tensor base_model.model.model.layers.1.mlp.up_proj.lora_B.weight is missing");
    }

    @Test
    void tokensAndPositionsOutsideTheModel() {
        try (Scope scope = new Scope(); BaseModel model = BaseModel.load(Fixtures.own().resolve("models/llama-gqa")); Decoder decoder = new Decoder(model);
                KvCache cache = new KvCache(model.config())) {
            assertThatThrownBy(() -> decoder.forward(java.util.List.of(Sequence.ofBase(3, 96)))).hasMessage("token id 96 is not in the vocabulary of 96");
            assertThatThrownBy(() -> decoder.forward(java.util.List.of(Sequence.ofBase(-1)))).hasMessage("token id -1 is not in the vocabulary of 96");
            assertThatThrownBy(() -> decoder.decode(cache, new int[] {1}, new int[] {512}, java.util.List.of(java.util.Optional.empty())))
                    .hasMessage("position 512 is beyond the model's context of 512 tokens");
        }
    }

    @Test
    void aTargetThatTheAdapterExcludesNeedsNoTensors() throws Exception {
        Path folder = copy(Fixtures.own().resolve("adapters/llama-qv-r2-rslora"), "excluding");
        change(folder.resolve("adapter_config.json"), config -> config.setAll((ObjectNode) parse(
                "{\"target_modules\": [\"q_proj\", \"v_proj\", \"model.layers.0.self_attn.k_proj\"], \"exclude_modules\": [\"k_proj\"]}")));
        try (LoraWeights read = PeftDirectory.read(folder, llama())) {
            assertThat(read.targets()).containsExactlyInAnyOrder(Projection.Q, Projection.V);
        }
    }

    private static void assertRefused(Runnable load, String... parts) {
        assertThatThrownBy(load::run).isInstanceOf(CheckpointException.class).hasMessageContainingAll(parts)
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("\n"));
    }

    private static ModelConfig llama() {
        return ModelConfig.read(Fixtures.own().resolve("models/llama-gqa"));
    }

    private Path modelWith(Consumer<ObjectNode> change) throws IOException {
        Path folder = copy(Fixtures.own().resolve("models/llama-gqa"), "model");
        change(folder.resolve("config.json"), change);
        return folder;
    }

    private Path modelWithTensors(Consumer<SequencedMap<String, Tensor>> change) {
        try {
            Path folder = modelWith(_ -> {});
            rewrite(folder.resolve("model.safetensors"), change);
            return folder;
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private Path adapterWithTensors(Consumer<SequencedMap<String, Tensor>> change) throws IOException {
        Path folder = copy(Fixtures.own().resolve("adapters/llama-all-r4"), "adapter");
        rewrite(folder.resolve("adapter_model.safetensors"), change);
        return folder;
    }

    private static void rewrite(Path file, Consumer<SequencedMap<String, Tensor>> change) throws IOException {
        try (Scope scope = new Scope()) {
            SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
            try (Safetensors from = Safetensors.open(file)) {
                from.names().forEach(name -> tensors.put(name, from.floats(name)));
            }
            change.accept(tensors);
            Files.delete(file);
            Safetensors.write(file, tensors, Map.of());
        }
    }

    private Path copy(Path from, String name) throws IOException {
        Path to = Files.createTempDirectory(temp, name);
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
                to.resolve(file.getFileName()).toFile().setWritable(true);
            }
        }
        return to;
    }

    private static void change(Path file, Consumer<ObjectNode> change) throws IOException {
        ObjectNode root = (ObjectNode) JSON.readTree(file.toFile());
        change.accept(root);
        JSON.writeValue(file.toFile(), root);
    }

    private static JsonNode parse(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new IllegalArgumentException(json, e);
        }
    }
}
