package io.furlong.torch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.torch.ModelConfig.Biases;
import io.furlong.torch.ModelConfig.Embeddings;
import io.furlong.torch.ModelConfig.Family;
import io.furlong.torch.ModelConfig.HeadNorm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Hugging Face's {@code config.json}, in the spellings of transformers 4 ({@code rope_theta} + {@code rope_scaling}) and 5 ({@code rope_parameters}).
 * What the decoder does not compute is refused by name, since ignoring it would give wrong logits without a sign.
 */
final class ConfigJson {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private final Path file;
    private final Path directory;
    private final JsonNode root;

    ConfigJson(Path directory) {
        this.directory = directory;
        this.file = directory.resolve("config.json");
        this.root = parse(file);
    }

    ModelConfig read() {
        Family family = family();
        refuseWhatIsNotComputed(family);
        int hidden = required("hidden_size");
        int heads = required("num_attention_heads");
        // Qwen3Config's default; the others derive it.
        int headDim = integer(root, "head_dim", family == Family.QWEN3 ? 128 : hidden / heads);
        boolean attentionBias = root.path("attention_bias").asBoolean(false);
        Biases biases = switch (family) {
            case LLAMA -> new Biases(attentionBias, attentionBias, root.path("mlp_bias").asBoolean(false));
            case MISTRAL -> Biases.NONE;
            case QWEN2 -> new Biases(true, false, false);
            case QWEN3 -> new Biases(attentionBias, attentionBias, false);
        };
        try {
            return new ModelConfig(family, required("vocab_size"), hidden, required("intermediate_size"), required("num_hidden_layers"), heads,
                    integer(root, "num_key_value_heads", heads), headDim, number(root, "rms_norm_eps", 1e-6), biases,
                    family == Family.QWEN3 ? HeadNorm.RMS : HeadNorm.NONE,
                    root.path("tie_word_embeddings").asBoolean(false) ? Embeddings.TIED : Embeddings.SEPARATE,
                    required("max_position_embeddings"), rope(), eosTokenIds());
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(file + ": " + e.getMessage());
        }
    }

    private Family family() {
        String type = root.path("model_type").asText("");
        Family family = Arrays.stream(Family.values()).filter(f -> f.modelType().equals(type)).findFirst().orElseThrow(() -> new CheckpointException(
                file + ": model_type \"" + type + "\" is not supported; supported are "
                        + Arrays.stream(Family.values()).map(Family::modelType).collect(Collectors.joining(", "))));
        JsonNode architectures = root.path("architectures");
        if (architectures.isArray() && !architectures.isEmpty() && !architectures.get(0).asText().equals(family.architecture())) {
            throw new CheckpointException(file + ": architecture \"" + architectures.get(0).asText() + "\" is not supported; for model_type "
                    + type + " it must be " + family.architecture());
        }
        return family;
    }

    private void refuseWhatIsNotComputed(Family family) {
        boolean windowed = present("sliding_window") && (family == Family.MISTRAL || root.path("use_sliding_window").asBoolean(false));
        for (JsonNode layerType : root.path("layer_types")) {
            windowed |= layerType.asText().equals("sliding_attention");
        }
        if (windowed) {
            throw refused("sliding window attention", "sliding_window", root.path("sliding_window"));
        }
        for (String key : List.of("attn_logit_softcapping", "final_logit_softcapping")) {
            if (present(key)) {
                throw refused("logit soft-capping", key, root.get(key));
            }
        }
        if (present("quantization_config")) {
            throw new CheckpointException(file + ": quantization_config is set; quantised weights are not supported, use an F32, BF16 or F16 checkpoint");
        }
        String activation = root.path("hidden_act").asText("silu");
        if (!activation.equals("silu") && !activation.equals("swish")) {
            throw refused("the activation", "hidden_act", root.get("hidden_act"));
        }
    }

    private Rope rope() {
        JsonNode parameters = root.path("rope_parameters");
        boolean current = parameters.isObject();
        JsonNode scaling = current ? parameters : root.path("rope_scaling");
        double theta = number(current && parameters.has("rope_theta") ? parameters : root, "rope_theta", 10_000);
        for (JsonNode node : List.of(root, scaling)) {
            if (number(node, "partial_rotary_factor", 1) != 1) {
                throw refused("partial rotary embedding", "partial_rotary_factor", node.get("partial_rotary_factor"));
            }
        }
        String type = scaling.path("rope_type").asText(scaling.path("type").asText("default"));
        return new Rope(theta, switch (type) {
            case "default" -> new Rope.None();
            case "linear" -> new Rope.Linear(ropeNumber(scaling, type, "factor"));
            case "dynamic" -> new Rope.Dynamic(ropeNumber(scaling, type, "factor"));
            case "llama3" -> new Rope.Llama3(ropeNumber(scaling, type, "factor"), ropeNumber(scaling, type, "low_freq_factor"),
                    ropeNumber(scaling, type, "high_freq_factor"), (int) ropeNumber(scaling, type, "original_max_position_embeddings"));
            case "yarn" -> yarn(scaling);
            default -> throw new CheckpointException(
                    file + ": rope type \"" + type + "\" is not supported; supported are default, linear, dynamic, llama3, yarn");
        });
    }

    private Rope.Yarn yarn(JsonNode scaling) {
        int context = required("max_position_embeddings");
        int original = integer(scaling, "original_max_position_embeddings", context);
        double factor = scaling.hasNonNull("factor") ? scaling.get("factor").asDouble() : (double) context / original;
        double mscale = number(scaling, "mscale", 0);
        double mscaleAllDim = number(scaling, "mscale_all_dim", 0);
        double attention = mscale != 0 && mscaleAllDim != 0
                ? yarnScale(factor, mscale) / yarnScale(factor, mscaleAllDim)
                : yarnScale(factor, 1);
        return new Rope.Yarn(factor, original, orElse(number(scaling, "beta_fast", 32), 32), orElse(number(scaling, "beta_slow", 1), 1),
                number(scaling, "attention_factor", attention),
                scaling.path("truncate").asBoolean(true) ? Rope.Truncation.WHOLE : Rope.Truncation.EXACT);
    }

    private static double yarnScale(double factor, double mscale) {
        return factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1;
    }

    private static double orElse(double value, double whenZero) {
        return value == 0 ? whenZero : value;
    }

    private List<Integer> eosTokenIds() {
        Path generation = directory.resolve("generation_config.json");
        if (Files.exists(generation)) {
            JsonNode ids = parse(generation).path("eos_token_id");
            if (!ids.isMissingNode() && !ids.isNull()) {
                return ids(ids);
            }
        }
        return ids(root.path("eos_token_id"));
    }

    private static List<Integer> ids(JsonNode node) {
        List<Integer> ids = new ArrayList<>();
        if (node.isArray()) {
            node.forEach(id -> ids.add(id.asInt()));
        } else if (node.isNumber()) {
            ids.add(node.asInt());
        }
        return ids;
    }

    private boolean present(String key) {
        return root.hasNonNull(key);
    }

    private CheckpointException refused(String what, String key, JsonNode value) {
        return new CheckpointException(file + ": " + what + " (" + key + " = " + value + ") is not supported");
    }

    private int required(String key) {
        JsonNode value = root.path(key);
        if (!value.isIntegralNumber()) {
            throw new CheckpointException(file + ": " + key + " is " + (value.isMissingNode() ? "missing" : value) + ", must be a whole number");
        }
        return value.asInt();
    }

    private double ropeNumber(JsonNode scaling, String type, String key) {
        if (!scaling.path(key).isNumber()) {
            throw new CheckpointException(file + ": rope type " + type + " needs a number " + key);
        }
        return scaling.get(key).asDouble();
    }

    private static int integer(JsonNode node, String key, int otherwise) {
        return node.hasNonNull(key) ? node.get(key).asInt() : otherwise;
    }

    private static double number(JsonNode node, String key, double otherwise) {
        return node.hasNonNull(key) ? node.get(key).asDouble() : otherwise;
    }

    private static JsonNode parse(Path file) {
        try {
            return JSON.readTree(file.toFile());
        } catch (IOException e) {
            throw new CheckpointException(file + ": " + (Files.exists(file) ? "not valid JSON: " + firstLine(e) : "no such file"), e);
        }
    }

    private static String firstLine(Exception e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }

    static void write(ModelConfig c, Path directory) {
        ObjectNode root = JSON.createObjectNode();
        root.putArray("architectures").add(c.family().architecture());
        root.put("model_type", c.family().modelType());
        root.put("vocab_size", c.vocabSize()).put("hidden_size", c.hiddenSize()).put("intermediate_size", c.intermediateSize());
        root.put("num_hidden_layers", c.layers()).put("num_attention_heads", c.heads()).put("num_key_value_heads", c.kvHeads());
        root.put("head_dim", c.headDim()).put("hidden_act", "silu").put("max_position_embeddings", c.contextLength());
        root.put("rms_norm_eps", c.rmsNormEps()).put("tie_word_embeddings", c.embeddings() == Embeddings.TIED);
        root.put("attention_bias", c.biases().qkv()).put("mlp_bias", c.biases().mlp()).put("torch_dtype", "float32");
        root.put("rope_theta", c.rope().theta());
        root.set("rope_scaling", scaling(c.rope().scaling()));
        ObjectNode generation = JSON.createObjectNode();
        for (ObjectNode node : List.of(root, generation)) {
            switch (c.eosTokenIds().size()) {
                case 0 -> node.putNull("eos_token_id");
                case 1 -> node.put("eos_token_id", c.eosTokenIds().getFirst());
                default -> {
                    ArrayNode ids = node.putArray("eos_token_id");
                    c.eosTokenIds().forEach(ids::add);
                }
            }
        }
        try {
            JSON.writeValue(directory.resolve("config.json").toFile(), root);
            JSON.writeValue(directory.resolve("generation_config.json").toFile(), generation);
        } catch (IOException e) {
            throw new CheckpointException(directory + ": cannot write config.json: " + firstLine(e), e);
        }
    }

    private static JsonNode scaling(Rope.Scaling scaling) {
        ObjectNode node = JSON.createObjectNode();
        return switch (scaling) {
            case Rope.None _ -> JSON.nullNode();
            case Rope.Linear s -> node.put("rope_type", "linear").put("factor", s.factor());
            case Rope.Dynamic s -> node.put("rope_type", "dynamic").put("factor", s.factor());
            case Rope.Llama3 s -> node.put("rope_type", "llama3").put("factor", s.factor()).put("low_freq_factor", s.lowFreqFactor())
                    .put("high_freq_factor", s.highFreqFactor()).put("original_max_position_embeddings", s.originalContext());
            case Rope.Yarn s -> node.put("rope_type", "yarn").put("factor", s.factor()).put("original_max_position_embeddings", s.originalContext())
                    .put("beta_fast", s.betaFast()).put("beta_slow", s.betaSlow()).put("attention_factor", s.attentionFactor())
                    .put("truncate", s.truncation() == Rope.Truncation.WHOLE);
        };
    }
}
