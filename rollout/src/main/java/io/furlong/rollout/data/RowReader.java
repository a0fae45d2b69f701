package io.furlong.rollout.data;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeType;
import io.furlong.core.DataConfig;
import io.furlong.core.Prompt;
import io.furlong.core.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Makes a prompt of one record: its text by the chat template where asked for, its token ids, its label and its metadata. */
final class RowReader {
    /** Numbers keep their digits, since a label is compared as text. */
    private static final ObjectMapper JSON = JsonMapper.builder().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES).build();
    private static final TypeReference<LinkedHashMap<String, Object>> MAP = new TypeReference<>() {};
    private static final int SHOWN = 60;
    /** Tokens that a tokenizer may add to a text of its own accord: begin, end, a leading space. */
    private static final int ADDED_TOKENS = 8;

    private final DatasetFile file;
    private final DataConfig data;
    private final Map<String, Object> defaults;
    private final Tokenizer tokenizer;
    private final int maxPromptTokens;

    RowReader(DatasetFile file, DataConfig data, Map<String, Object> defaults, Tokenizer tokenizer, int maxPromptTokens) {
        this.file = file;
        this.data = data;
        this.defaults = defaults;
        this.tokenizer = tokenizer;
        this.maxPromptTokens = maxPromptTokens;
    }

    /**
     * One record as JSON text.
     *
     * @param number zero-based in the file
     */
    record Text(long number, String json) {}

    /** One record, parsed. */
    private record Record(long number, JsonNode fields) {}

    /** Whether a record can be used; a malformed one is an error. */
    enum Verdict { KEEP, TOO_LONG }

    /** Checks a record whole, without tokenizing a prompt that is short anyway: a token has at least one byte. */
    Verdict check(Text t) {
        Record c = parse(t);
        String text = text(c);
        label(c);
        metadata(c);
        if (text.getBytes(StandardCharsets.UTF_8).length + ADDED_TOKENS <= maxPromptTokens) {
            return Verdict.KEEP;
        }
        return tokenizer.encode(text).length <= maxPromptTokens ? Verdict.KEEP : Verdict.TOO_LONG;
    }

    Prompt prompt(Text t, long row, int epoch) {
        Record c = parse(t);
        String text = text(c);
        int[] ids = tokenizer.encode(text);
        if (ids.length == 0) {
            throw bad(c, data.inputKey(), "the prompt has no tokens; it must have at least one");
        }
        return new Prompt(row, epoch, text, ids, label(c), metadata(c), 0, 0);
    }

    private String text(Record c) {
        JsonNode input = field(c, data.inputKey());
        if (input.isTextual()) {
            if (input.textValue().isEmpty()) {
                throw bad(c, data.inputKey(), "is empty; must be text or a list of chat messages");
            }
            return switch (data.template()) {
                case AS_IS -> input.textValue();
                case CHAT -> chat(c, List.of(Map.of("role", "user", "content", input.textValue())));
            };
        }
        if (input.isArray() && !input.isEmpty()) {
            List<Map<String, Object>> messages = new ArrayList<>();
            for (JsonNode m : input) {
                if (!m.isObject() || !m.path("role").isTextual() || !m.has("content")) {
                    throw bad(c, data.inputKey(), "message " + (messages.size() + 1) + " is " + shown(m)
                            + ", must have a role and a content");
                }
                messages.add(withoutNulls(JSON.convertValue(m, MAP)));
            }
            return chat(c, messages);
        }
        throw bad(c, data.inputKey(), "got " + shown(input) + ", must be text or a list of chat messages");
    }

    private String chat(Record c, List<Map<String, Object>> messages) {
        if (!tokenizer.hasChatTemplate()) {
            throw bad(c, data.inputKey(), "needs the model's chat template, but the model has none; use text prompts without it");
        }
        try {
            return tokenizer.chat(messages);
        } catch (RuntimeException e) {
            throw bad(c, data.inputKey(), "the model's chat template refuses it: " + firstLine(e));
        }
    }

    private String label(Record c) {
        Optional<String> key = data.labelKey();
        if (key.isEmpty()) {
            return "";
        }
        JsonNode label = field(c, key.get());
        if (label.isNull()) {
            throw bad(c, key.get(), "got null, must be the reference answer");
        }
        return label.isValueNode() ? label.asText() : label.toString();
    }

    private Map<String, Object> metadata(Record c) {
        Optional<String> key = data.metadataKey();
        if (key.isEmpty() || !c.fields().has(key.get())) {
            return defaults;
        }
        JsonNode node = c.fields().get(key.get());
        if (node.isTextual() && node.textValue().strip().startsWith("{")) {
            try {
                node = JSON.readTree(node.textValue());
            } catch (JsonProcessingException e) {
                throw bad(c, key.get(), "is no valid JSON: " + e.getOriginalMessage());
            }
        }
        if (node.isNull() || node.isTextual() && node.textValue().isBlank()) {
            return defaults;
        }
        if (!node.isObject()) {
            throw bad(c, key.get(), "got " + shown(node) + ", must be an object");
        }
        Map<String, Object> merged = new LinkedHashMap<>(defaults);
        merged.putAll(withoutNulls(JSON.convertValue(node, MAP)));
        return merged;
    }

    private static Map<String, Object> withoutNulls(Map<String, Object> map) {
        map.values().removeIf(Objects::isNull);
        return map;
    }

    private Record parse(Text t) {
        try {
            JsonNode fields = JSON.readTree(t.json());
            if (!fields.isObject()) {
                throw new DatasetException(file.path(), file.place(t.number()) + ": got " + shown(fields) + ", must be a JSON object");
            }
            return new Record(t.number(), fields);
        } catch (JsonProcessingException e) {
            throw new DatasetException(file.path(), file.place(t.number()) + ": is no valid JSON: " + e.getOriginalMessage(), e);
        }
    }

    private JsonNode field(Record c, String column) {
        JsonNode value = c.fields().get(column);
        if (value == null) {
            List<String> names = new ArrayList<>();
            c.fields().fieldNames().forEachRemaining(names::add);
            throw bad(c, column, "there is no such column; there are " + String.join(", ", names));
        }
        return value;
    }

    private DatasetException bad(Record c, String column, String problem) {
        return new DatasetException(file.path(), file.place(c.number()) + ", column '" + column + "': " + problem);
    }

    private static String shown(JsonNode node) {
        String text = node.toString();
        String kind = node.getNodeType() == JsonNodeType.NULL ? "" : node.getNodeType().name().toLowerCase(Locale.ROOT) + " ";
        return kind + (text.length() > SHOWN ? text.substring(0, SHOWN) + "…" : text);
    }

    private static String firstLine(Throwable e) {
        return Optional.ofNullable(e.getMessage()).orElse(e.toString()).lines().findFirst().orElse("");
    }
}
