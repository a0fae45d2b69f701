package io.furlong.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.WireJson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * The events of one streaming reply, as they come: by default each holds all that was generated so far, with the server's
 * {@code --incremental-streaming-output} only what is new. {@link #whole} joins either to the reply as it would be without streaming.
 * Closing it before the end makes the server abort the request, some seconds later.
 */
public final class GenerateStream implements AutoCloseable {
    private final URI uri;
    private final BufferedReader lines;

    GenerateStream(URI uri, InputStream body) {
        this.uri = uri;
        this.lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
    }

    /**
     * The next chunk; empty at the end.
     *
     * @throws EngineException of kind IN_STREAM for an error event, DROPPED if the stream ends without {@code [DONE]}
     */
    public Optional<GenerateResponse> next() throws EngineException {
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.startsWith("data:")) {
                    continue;
                }
                String data = line.substring(5).strip();
                if (data.equals(GenerateResponse.DONE)) {
                    return Optional.empty();
                }
                return Optional.of(chunk(data));
            }
        } catch (IOException e) {
            throw Http.dropped(uri, e);
        }
        throw new EngineException(EngineException.Kind.DROPPED, 0, uri + " ended the stream before [DONE]");
    }

    private GenerateResponse chunk(String data) throws EngineException, IOException {
        JsonNode event = WireJson.mapper().readTree(data);
        if (ErrorReply.isInStream(event)) {
            ErrorReply error = ErrorReply.read(event.path("error").path("code").asInt(400), data);
            throw new EngineException(EngineException.saysUnknownAdapter(error.message()) ? EngineException.Kind.UNKNOWN_ADAPTER
                    : EngineException.Kind.IN_STREAM, error.status(), uri + " sent an error inside the stream: " + error.message());
        }
        return WireJson.mapper().treeToValue(event, GenerateResponse.class);
    }

    /**
     * Reads to the end and gives the reply as a whole, whether chunks are cumulative or hold only what is new: told apart by the number
     * of completion tokens, which is the total in either.
     */
    public GenerateResponse whole() throws EngineException {
        Joined joined = new Joined();
        for (Optional<GenerateResponse> chunk = next(); chunk.isPresent(); chunk = next()) {
            joined.add(chunk.get());
        }
        return joined.reply().orElseThrow(() -> new EngineException(EngineException.Kind.UNREADABLE, 0, uri + " sent an empty stream"));
    }

    @Override
    public void close() {
        try {
            lines.close();
        } catch (IOException e) {
            // the connection is gone, which is what closing is for
        }
    }
}
