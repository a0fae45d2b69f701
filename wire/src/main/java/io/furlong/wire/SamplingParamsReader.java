package io.furlong.wire;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/** Reads {@code sampling_params} key by key, then checks bounds, in the order in which SGLang's {@code verify()} does. */
final class SamplingParamsReader {
    private static final Set<String> KEYS = Set.of("max_new_tokens", "min_new_tokens", "temperature", "top_p", "top_k", "min_p", "frequency_penalty",
            "presence_penalty", "repetition_penalty", "stop", "stop_token_ids", "stop_regex", "n", "json_schema", "regex", "ebnf", "structural_tag",
            "ignore_eos", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim", "stream_interval", "logit_bias", "sampling_seed",
            "custom_params");
    private static final List<String> NOT_HERE = List.of("json_schema", "regex", "ebnf", "structural_tag");

    private final JsonNode node;

    private SamplingParamsReader(JsonNode node) {
        this.node = node;
    }

    static SamplingParams read(JsonNode node) throws RejectedRequest {
        if (node.isMissingNode() || node.isNull()) {
            return SamplingParams.DEFAULT;
        }
        if (!node.isObject()) {
            throw new RejectedRequest(ErrorReply.badField("sampling_params: an object is needed"));
        }
        for (Map.Entry<String, JsonNode> field : node.properties()) {
            if (!KEYS.contains(field.getKey())) {
                throw uncaught("unexpected sampling parameter '" + field.getKey() + "'");
            }
        }
        return new SamplingParamsReader(node).read();
    }

    private SamplingParams read() throws RejectedRequest {
        for (String key : NOT_HERE) {
            if (present(key)) {
                throw bad("sampling parameter " + key + " is not supported by this engine; leave it out");
            }
        }
        // For logit processors that a server was started with; this engine has none, so there is nobody to read them.
        if (present("custom_params") && !node.get("custom_params").isObject()) {
            throw uncaught("sampling parameter custom_params is not an object");
        }
        JsonNode max = node.path("max_new_tokens");
        OptionalInt maxNewTokens = max.isMissingNode() ? OptionalInt.of(128) : max.isNull() ? OptionalInt.empty() : OptionalInt.of(integer("max_new_tokens", 0));
        SamplingParams params = new SamplingParams(maxNewTokens, integer("min_new_tokens", 0), number("temperature", 1), number("top_p", 1),
                integer("top_k", -1), number("min_p", 0), number("frequency_penalty", 0), number("presence_penalty", 0),
                number("repetition_penalty", 1), strings("stop"), strings("stop_regex"), integers("stop_token_ids"), integer("n", 1), flag("ignore_eos", false),
                flag("skip_special_tokens", true), flag("spaces_between_special_tokens", true), flag("no_stop_trim", false),
                present("stream_interval") ? OptionalInt.of(integer("stream_interval", 1)) : OptionalInt.empty(), bias(),
                present("sampling_seed") ? OptionalLong.of(longInteger("sampling_seed")) : OptionalLong.empty());
        verify(params);
        return params;
    }

    private static void verify(SamplingParams p) throws RejectedRequest {
        check(p.temperature() >= 0, "temperature must be non-negative and finite, got " + p.temperature() + ".");
        check(p.topP() > 0 && p.topP() <= 1, "top_p must be in (0, 1], got " + p.topP() + ".");
        check(p.minP() >= 0 && p.minP() <= 1, "min_p must be in [0, 1], got " + p.minP() + ".");
        check(p.topK() >= 1 || p.topK() == -1, "top_k must be -1 (disable) or at least 1, got " + p.topK() + ".");
        check(Math.abs(p.frequencyPenalty()) <= 2, "frequency_penalty must be in [-2, 2], got " + p.frequencyPenalty() + ".");
        check(Math.abs(p.presencePenalty()) <= 2, "presence_penalty must be in [-2, 2], got " + p.presencePenalty() + ".");
        check(p.repetitionPenalty() > 0 && p.repetitionPenalty() <= 2, "repetition_penalty must be in (0, 2], got " + p.repetitionPenalty() + ".");
        check(p.minNewTokens() >= 0, "min_new_tokens must be at least 0, got " + p.minNewTokens() + ".");
        check(p.n() >= 1, "n must be at least 1, got " + p.n() + ".");
        check(p.streamInterval().orElse(1) >= 1, "stream_interval must be at least 1, got " + p.streamInterval().orElse(1) + ".");
        if (p.maxNewTokens().isPresent()) {
            int max = p.maxNewTokens().getAsInt();
            check(max >= 0, "max_new_tokens must be at least 0, got " + max + ".");
            check(p.minNewTokens() <= max, "min_new_tokens must be in [0, max_new_tokens(" + max + ")], got " + p.minNewTokens() + ".");
        }
    }

    private boolean present(String key) {
        return node.hasNonNull(key);
    }

    private int integer(String key, int otherwise) throws RejectedRequest {
        if (!present(key)) {
            return otherwise;
        }
        JsonNode value = node.get(key);
        if (!value.isIntegralNumber()) {
            throw uncaught("sampling parameter " + key + " is not an integer");
        }
        if (!value.canConvertToInt()) {
            throw bad(key + " is out of range, got " + value.asText() + ".");
        }
        return value.intValue();
    }

    private long longInteger(String key) throws RejectedRequest {
        JsonNode value = node.get(key);
        if (!value.isIntegralNumber()) {
            throw uncaught("sampling parameter " + key + " is not an integer");
        }
        if (!value.canConvertToLong()) {
            throw bad(key + " is out of range, got " + value.asText() + ".");
        }
        return value.longValue();
    }

    private double number(String key, double otherwise) throws RejectedRequest {
        if (!present(key)) {
            return otherwise;
        }
        JsonNode value = node.get(key);
        if (!value.isNumber()) {
            throw uncaught("sampling parameter " + key + " is not a number");
        }
        double number = value.doubleValue();
        if (!Double.isFinite(number)) {
            throw bad(key + " must be finite, got " + value.asText() + ".");
        }
        return number;
    }

    private boolean flag(String key, boolean otherwise) throws RejectedRequest {
        if (!present(key)) {
            return otherwise;
        }
        if (!node.get(key).isBoolean()) {
            throw uncaught("sampling parameter " + key + " is not a boolean");
        }
        return node.get(key).booleanValue();
    }

    private List<String> strings(String key) throws RejectedRequest {
        if (!present(key)) {
            return List.of();
        }
        JsonNode value = node.get(key);
        if (value.isTextual()) {
            return value.textValue().isEmpty() ? List.of() : List.of(value.textValue());
        }
        List<String> all = new ArrayList<>();
        for (JsonNode one : array(key)) {
            if (!one.isTextual()) {
                throw uncaught("sampling parameter " + key + " holds something that is no string");
            }
            if (!one.textValue().isEmpty()) {
                all.add(one.textValue());
            }
        }
        return all;
    }

    private List<Integer> integers(String key) throws RejectedRequest {
        if (!present(key)) {
            return List.of();
        }
        List<Integer> all = new ArrayList<>();
        for (JsonNode one : array(key)) {
            if (!one.isIntegralNumber() || !one.canConvertToInt()) {
                throw uncaught("sampling parameter " + key + " holds something that is no token id");
            }
            all.add(one.intValue());
        }
        return all;
    }

    private Map<Integer, Double> bias() throws RejectedRequest {
        if (!present("logit_bias")) {
            return Map.of();
        }
        if (!node.get("logit_bias").isObject()) {
            throw uncaught("sampling parameter logit_bias is not an object");
        }
        Map<Integer, Double> bias = new HashMap<>();
        for (Map.Entry<String, JsonNode> entry : node.get("logit_bias").properties()) {
            if (!entry.getValue().isNumber()) {
                throw uncaught("sampling parameter logit_bias holds something that is no number");
            }
            try {
                bias.put(Integer.parseInt(entry.getKey()), entry.getValue().doubleValue());
            } catch (NumberFormatException e) {
                throw bad("logit_bias must have token ids as keys, got '" + entry.getKey() + "'.");
            }
        }
        return bias;
    }

    private JsonNode array(String key) throws RejectedRequest {
        if (!node.get(key).isArray()) {
            throw uncaught("sampling parameter " + key + " is not a list");
        }
        return node.get(key);
    }

    private static void check(boolean right, String message) throws RejectedRequest {
        if (!right) {
            throw bad(message);
        }
    }

    private static RejectedRequest bad(String message) {
        return new RejectedRequest(ErrorReply.badValue(message));
    }

    private static RejectedRequest uncaught(String message) {
        return new RejectedRequest(ErrorReply.uncaught(message));
    }
}
