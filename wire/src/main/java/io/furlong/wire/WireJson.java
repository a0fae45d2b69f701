package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * The one way JSON is read and written here: snake_case names, absent optionals left out, unknown fields skipped, no silent change of type,
 * and no {@code NaN} or {@code Infinity} literals.
 */
public final class WireJson {
    private static final ObjectMapper MAPPER = JsonMapper.builder()
            .addModule(new Jdk8Module())
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .defaultPropertyInclusion(JsonInclude.Value.construct(JsonInclude.Include.NON_ABSENT, JsonInclude.Include.NON_ABSENT))
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .withCoercionConfig(LogicalType.Textual, c -> c.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private WireJson() {}

    /** Shared and safe for use by many threads; nobody reconfigures it. */
    public static ObjectMapper mapper() {
        return MAPPER;
    }

    public static String write(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @throws RejectedRequest as SGLang answers a body that is no JSON object */
    public static JsonNode readBody(byte[] body) throws RejectedRequest {
        JsonNode node;
        try {
            node = MAPPER.readTree(body);
        } catch (JsonProcessingException e) {
            throw new RejectedRequest(ErrorReply.badField("JSON decode error: " + e.getOriginalMessage()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (node == null || !node.isObject()) {
            throw new RejectedRequest(ErrorReply.badField("body: a JSON object is needed"));
        }
        return node;
    }

    /** @throws RejectedRequest as SGLang answers a field of the wrong type, naming it */
    public static <T> T readBody(byte[] body, Class<T> type) throws RejectedRequest {
        try {
            return MAPPER.treeToValue(readBody(body), type);
        } catch (JsonMappingException e) {
            String field = e.getPath().isEmpty() ? "body" : e.getPath().getLast().getFieldName();
            String problem = e.getCause() instanceof IllegalArgumentException cause ? cause.getMessage() : e.getOriginalMessage();
            throw new RejectedRequest(ErrorReply.badField(field + ": " + problem));
        } catch (JsonProcessingException e) {
            throw new RejectedRequest(ErrorReply.badField(e.getOriginalMessage()));
        }
    }
}
