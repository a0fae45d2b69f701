package io.furlong.wire;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * An error as it travels: SGLang has one body shape for each place an error can come from, its router another.
 *
 * <ul>
 *   <li>{@link #badValue} {@code {"error":{"message":…}}}, 400: a value that generation refuses, an unknown adapter, a duplicate rid;
 *   <li>{@link #badField} {@code {"object":"error","message":…,"type":"Bad Request","param":null,"code":400}}: JSON or a field's type is wrong;
 *   <li>{@link #unavailable} the same shape with type "503": the scheduler gave the request back;
 *   <li>{@link #uncaught} plain text, 500: what Python did not catch, such as an unknown sampling parameter;
 *   <li>{@link #unauthorized} and {@link #forbidden} {@code {"error":"…"}};
 *   <li>{@link #inStream} an event inside a stream whose status is already 200.
 * </ul>
 *
 * @param status  HTTP status
 * @param message what went wrong, for people
 * @param body    as sent
 */
public record ErrorReply(int status, String message, String body) {
    public static final String UNCAUGHT = "Internal Server Error";

    public static ErrorReply badValue(String message) {
        ObjectNode body = object();
        body.putObject("error").put("message", message);
        return new ErrorReply(400, message, body.toString());
    }

    public static ErrorReply badField(String message) {
        return shaped(400, "Bad Request", message);
    }

    public static ErrorReply unavailable(String message) {
        return shaped(503, "503", message);
    }

    /** @param message for our log; the client sees SGLang's plain text */
    public static ErrorReply uncaught(String message) {
        return new ErrorReply(500, message, UNCAUGHT);
    }

    public static ErrorReply unauthorized() {
        return new ErrorReply(401, "Unauthorized", "{\"error\":\"Unauthorized\"}");
    }

    public static ErrorReply forbidden() {
        return new ErrorReply(403, "Forbidden", "{\"error\":\"Forbidden\"}");
    }

    public static ErrorReply modelNotFound(String model) {
        ObjectNode body = object();
        String message = "The model '" + model + "' does not exist";
        body.putObject("error").put("message", message).put("type", "invalid_request_error").put("param", "model").put("code", "model_not_found");
        return new ErrorReply(404, message, body.toString());
    }

    /** The event that tells of {@code error} inside a stream. */
    public static String inStream(ErrorReply error) {
        ObjectNode body = object();
        body.putObject("error").put("message", error.message()).put("type", "invalid_request_error").put("code", error.status()).put("retryable", false);
        return body.toString();
    }

    /** Reads any error body of SGLang, of its router or of a proxy between: whatever it looks like, something readable comes out. */
    public static ErrorReply read(int status, String body) {
        return new ErrorReply(status, messageIn(body), body);
    }

    /** Whether {@code event}, a chunk of a stream, is an error event. */
    public static boolean isInStream(JsonNode event) {
        return event.path("error").isObject();
    }

    public boolean json() {
        return body.startsWith("{");
    }

    private static String messageIn(String body) {
        try {
            JsonNode node = WireJson.mapper().readTree(body);
            JsonNode error = node.path("error");
            for (JsonNode candidate : new JsonNode[] {error.path("message"), error, node.path("message"), node.path("error_message"), node.path("detail")}) {
                if (candidate.isTextual()) {
                    return candidate.textValue();
                }
            }
            return body.strip();
        } catch (JsonProcessingException e) {
            return body.strip();
        }
    }

    private static ErrorReply shaped(int status, String type, String message) {
        ObjectNode body = object();
        body.put("object", "error").put("message", message).put("type", type).putNull("param").put("code", status);
        return new ErrorReply(status, message, body.toString());
    }

    private static ObjectNode object() {
        return WireJson.mapper().createObjectNode();
    }
}
