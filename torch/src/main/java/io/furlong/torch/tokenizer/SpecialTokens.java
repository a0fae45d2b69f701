package io.furlong.torch.tokenizer;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The named special tokens of {@code tokenizer_config.json}, which chat templates use by name.
 *
 * @param byName such as {@code bos_token → <s>}
 */
record SpecialTokens(Map<String, String> byName) {
    static final String CONFIG = "tokenizer_config.json";

    SpecialTokens {
        byName = Map.copyOf(byName);
    }

    static SpecialTokens load(Path directory) {
        Path file = directory.resolve(CONFIG);
        Map<String, String> tokens = new LinkedHashMap<>();
        if (Files.isRegularFile(file)) {
            for (Map.Entry<String, JsonNode> entry : HfTokenizer.read(file).properties()) {
                JsonNode value = entry.getValue();
                if (entry.getKey().endsWith("_token") && (value.isTextual() || value.path("content").isTextual())) {
                    tokens.put(entry.getKey(), value.isTextual() ? value.textValue() : value.path("content").textValue());
                }
            }
        }
        return new SpecialTokens(tokens);
    }

    Optional<String> bos() {
        return Optional.ofNullable(byName.get("bos_token")).filter(token -> !token.isEmpty());
    }
}
