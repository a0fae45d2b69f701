package io.furlong.server;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.core.JsonFactory;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.InputStream;

/** JSON in and out, strictly: a key twice, trailing text, too deep or too large a body are errors of the sender. */
final class Json {
    private static final int MAX_DEPTH = 32;
    private static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(MAX_DEPTH).maxNumberLength(100).build()).build())
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private Json() {}

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static JsonNode tree(Object value) {
        return MAPPER.valueToTree(value);
    }

    /** The body as an object; an absent body is an empty one. */
    static ObjectNode body(ServerRequest request, int maxBody) {
        byte[] bytes = bytes(request, maxBody);
        if (bytes.length == 0) {
            return object();
        }
        request.headers().first(HeaderNames.CONTENT_TYPE).ifPresent(type -> {
            String media = type.split(";", 2)[0].strip();
            if (!media.equalsIgnoreCase("application/json")) {
                throw new ApiException(415, "Content-Type: got '" + media + "', must be application/json");
            }
        });
        return parse(bytes);
    }

    private static ObjectNode parse(byte[] bytes) {
        try {
            if (MAPPER.readTree(bytes) instanceof ObjectNode object) {
                return object;
            }
            throw new ApiException(400, "the body must be a JSON object");
        } catch (JsonProcessingException e) {
            throw new ApiException(400, "the body is not valid JSON: " + e.getOriginalMessage().lines().findFirst().orElse("")
                    + (e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ", column " + e.getLocation().getColumnNr() + ")"));
        } catch (IOException e) {
            throw new ApiException(400, "the body is not valid UTF-8 JSON");
        }
    }

    private static byte[] bytes(ServerRequest request, int maxBody) {
        long announced = request.headers().contentLength().orElse(0);
        if (announced > maxBody) {
            throw new ApiException(413, "the body has " + announced + " bytes, at most " + maxBody + " are taken");
        }
        if (!request.content().hasEntity()) {
            return new byte[0];
        }
        try (InputStream in = request.content().inputStream()) {
            byte[] bytes = in.readNBytes(maxBody + 1);
            if (bytes.length > maxBody) {
                throw new ApiException(413, "the body is larger than " + maxBody + " bytes");
            }
            return bytes;
        } catch (IOException e) {
            throw new ApiException(400, "the body could not be read: " + e.getMessage());
        }
    }

    static void send(ServerResponse response, int status, JsonNode json) {
        response.status(status).header(HeaderValues.CONTENT_TYPE_JSON);
        response.send(write(json));
    }

    static byte[] write(JsonNode json) {
        try {
            return MAPPER.writeValueAsBytes(json);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a JSON tree can always be written", e);
        }
    }
}
