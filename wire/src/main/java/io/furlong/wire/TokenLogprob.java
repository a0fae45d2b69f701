package io.furlong.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import java.io.IOException;
import java.util.Optional;

/**
 * {@code [logprob, token id, text|null]}.
 *
 * @param logprob natural log; NaN where there is none (a prompt's first token), null on the wire; so is −∞
 */
@JsonSerialize(using = TokenLogprob.Writer.class)
@JsonDeserialize(using = TokenLogprob.Reader.class)
public record TokenLogprob(float logprob, int tokenId, Optional<String> text) {
    public static TokenLogprob of(float logprob, int tokenId) {
        return new TokenLogprob(logprob, tokenId, Optional.empty());
    }

    static final class Writer extends JsonSerializer<TokenLogprob> {
        @Override
        public void serialize(TokenLogprob value, JsonGenerator out, SerializerProvider provider) throws IOException {
            out.writeStartArray();
            if (Float.isFinite(value.logprob)) {
                out.writeNumber(value.logprob);
            } else {
                out.writeNull();
            }
            out.writeNumber(value.tokenId);
            if (value.text.isPresent()) {
                out.writeString(value.text.get());
            } else {
                out.writeNull();
            }
            out.writeEndArray();
        }
    }

    static final class Reader extends JsonDeserializer<TokenLogprob> {
        @Override
        public TokenLogprob deserialize(JsonParser in, DeserializationContext context) throws IOException {
            if (!in.isExpectedStartArrayToken()) {
                return (TokenLogprob) context.handleUnexpectedToken(TokenLogprob.class, in);
            }
            float logprob = in.nextToken() == JsonToken.VALUE_NULL ? Float.NaN : in.getFloatValue();
            in.nextToken();
            int tokenId = in.getIntValue();
            Optional<String> text = Optional.empty();
            while (in.nextToken() != JsonToken.END_ARRAY) {
                if (in.currentToken() == JsonToken.VALUE_STRING) {
                    text = Optional.of(in.getText());
                }
                in.skipChildren();
            }
            return new TokenLogprob(logprob, tokenId, text);
        }
    }
}
