package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Optional;
import java.util.OptionalInt;

/** {@code meta_info.finish_reason}: why a response ended. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
@JsonSubTypes({
    @JsonSubTypes.Type(value = FinishReason.Stop.class, name = "stop"),
    @JsonSubTypes.Type(value = FinishReason.Length.class, name = "length"),
    @JsonSubTypes.Type(value = FinishReason.Abort.class, name = "abort")
})
public sealed interface FinishReason {
    static FinishReason stoppedAt(int tokenId) {
        return new Stop(IntNode.valueOf(tokenId));
    }

    static FinishReason stoppedAt(String text) {
        return new Stop(TextNode.valueOf(text));
    }

    /** @param matched an end token's id, several ids, a stop string, or {@code "NaN happened"} */
    record Stop(JsonNode matched) implements FinishReason {}

    /** @param length output tokens */
    record Length(int length) implements FinishReason {}

    /** A request aborted while it waited has a message only. */
    @JsonInclude(JsonInclude.Include.NON_ABSENT)
    record Abort(String message, OptionalInt statusCode, Optional<String> errType) implements FinishReason {
        public static Abort of(String message) {
            return new Abort(message, OptionalInt.empty(), Optional.empty());
        }
    }
}
