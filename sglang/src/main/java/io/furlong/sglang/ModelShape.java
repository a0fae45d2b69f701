package io.furlong.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The sizes of a base model that an adapter has to fit, from its {@code config.json}: enough to check a directory before an engine
 * reads it, since SGLang finds a wrong tensor shape at the first request only, and dies of it.
 *
 * @param layers  decoder layers
 * @param vocab   token ids are below it
 * @param context longest sequence, prompt and response together
 * @param linears every linear layer of a decoder block that an adapter may target, by its last name
 */
public record ModelShape(int layers, int vocab, int context, Map<String, Linear> linears) {
    /** Of one linear layer: y[out] = W[out, in] x[in]. */
    public record Linear(int in, int out) {}

    public ModelShape {
        linears = Map.copyOf(linears);
    }

    /** @param model a directory in Hugging Face layout */
    public static ModelShape read(Path model) throws IOException {
        Path file = model.resolve("config.json");
        JsonNode config = WireJson.mapper().readTree(Files.readAllBytes(file));
        int hidden = size(file, config, "hidden_size");
        int heads = size(file, config, "num_attention_heads");
        int keyHeads = config.path("num_key_value_heads").asInt(heads);
        int head = config.path("head_dim").asInt(hidden / heads);
        int inner = size(file, config, "intermediate_size");
        return new ModelShape(size(file, config, "num_hidden_layers"), size(file, config, "vocab_size"),
                size(file, config, "max_position_embeddings"), Map.of(
                "q_proj", new Linear(hidden, heads * head), "k_proj", new Linear(hidden, keyHeads * head),
                "v_proj", new Linear(hidden, keyHeads * head), "o_proj", new Linear(heads * head, hidden),
                "gate_proj", new Linear(hidden, inner), "up_proj", new Linear(hidden, inner), "down_proj", new Linear(inner, hidden)));
    }

    Optional<Linear> linear(String name) {
        return Optional.ofNullable(linears.get(name));
    }

    private static int size(Path file, JsonNode config, String key) throws IOException {
        if (!config.path(key).isInt() || config.path(key).intValue() < 1) {
            throw new IOException(file + ": " + key + " is " + config.path(key) + "; a whole number above 0 is needed");
        }
        return config.path(key).intValue();
    }
}
