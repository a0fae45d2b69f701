package io.furlong.sglang;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import io.furlong.wire.AbortRequest;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.Loads;
import io.furlong.wire.LoraReply;
import io.furlong.wire.ModelInfo;
import io.furlong.wire.ModelList;
import io.furlong.wire.ServerInfo;
import io.furlong.wire.UnloadLoraRequest;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * The endpoints of one SGLang server, typed. Every call blocks until its deadline at most; what goes wrong comes out as an
 * {@link EngineException} of the right kind. Unknown fields of replies are skipped. Nothing here retries.
 */
public final class SglangClient {
    /** Of the time that a reply costs, most goes into its log-probs: they are read by the faster of Jackson's two ways, and names aren't checked for doubles. */
    private static final ObjectReader REPLIES = WireJson.mapper().reader().with(StreamReadFeature.USE_FAST_DOUBLE_PARSER).without(StreamReadFeature.STRICT_DUPLICATE_DETECTION);

    private final Http http;
    private final URI base;
    private final URI generate;

    /** @param base {@code http://host:port}, without a path */
    public SglangClient(Http http, URI base) {
        this.http = http;
        this.base = URI.create(base.toString().replaceAll("/+$", ""));
        this.generate = at("/generate");
    }

    public URI base() {
        return base;
    }

    /** A request that does not stream, not sent yet. */
    GenerateCall call(GenerateRequest request) {
        return new GenerateCall(this, http.post(generate, bytes(request)));
    }

    public GenerateResponse generate(GenerateRequest request, Duration deadline) throws EngineException, InterruptedException {
        return call(request).await(deadline);
    }

    /**
     * Sends a request that streams.
     *
     * @param deadline until the reply begins; each chunk then comes when it comes, until the stream is closed
     */
    public GenerateStream stream(GenerateRequest request, Duration deadline) throws EngineException, InterruptedException {
        return new GenerateStream(generate, http.post(generate, bytes(request.streaming())).stream(deadline));
    }

    /** 200 says nothing about what was aborted: success is what the original call returns. */
    public void abort(AbortRequest request, Duration deadline) throws EngineException, InterruptedException {
        http.post(at("/abort_request"), bytes(request)).await(deadline).accepted();
    }

    /** A refusal is an answer: {@code success} false with its message. */
    public LoraReply loadAdapter(LoadLoraRequest request, Duration deadline) throws EngineException, InterruptedException {
        return lora(http.post(at("/load_lora_adapter"), bytes(request)).await(deadline));
    }

    /** On released SGLang this can wait for ever, and block every later load: see {@link Fleet}. */
    public LoraReply unloadAdapter(String name, Duration deadline) throws EngineException, InterruptedException {
        return lora(http.post(at("/unload_lora_adapter"), bytes(new UnloadLoraRequest(name))).await(deadline));
    }

    public ModelList models(Duration deadline) throws EngineException, InterruptedException {
        return read(http.get(at("/v1/models")).await(deadline), ModelList.class);
    }

    /** Path of each registered adapter, by name; an adapter that was evicted is not among them though it would be reloaded silently. */
    public Map<String, String> adapters(Duration deadline) throws EngineException, InterruptedException {
        Map<String, String> paths = new HashMap<>();
        for (ModelList.Card card : models(deadline).data()) {
            if (card.parent().isPresent()) {
                paths.put(card.id(), card.root().orElse(""));
            }
        }
        return paths;
    }

    public ModelInfo modelInfo(Duration deadline) throws EngineException, InterruptedException {
        return read(either("/model_info", "/get_model_info", deadline), ModelInfo.class);
    }

    public ServerInfo serverInfo(Duration deadline) throws EngineException, InterruptedException {
        return read(either("/server_info", "/get_server_info", deadline), ServerInfo.class);
    }

    /** The same with every setting that the server names, for people. */
    JsonNode settings(Duration deadline) throws EngineException, InterruptedException {
        return read(either("/server_info", "/get_server_info", deadline), JsonNode.class);
    }

    /** Returns if the server says that it can serve; on SGLang this generates a token and takes a second or more. */
    public void health(Duration deadline) throws EngineException, InterruptedException {
        http.get(at("/health")).await(deadline).accepted();
    }

    public Loads loads(Duration deadline) throws EngineException, InterruptedException {
        return read(http.get(at("/v1/loads?include=all")).await(deadline), Loads.class);
    }

    private HttpReply either(String path, String older, Duration deadline) throws EngineException, InterruptedException {
        HttpReply response = http.get(at(path)).await(deadline);
        return response.status() == 404 ? http.get(at(older)).await(deadline) : response;
    }

    private LoraReply lora(HttpReply response) throws EngineException {
        if (response.status() == 400) {
            try {
                JsonNode body = WireJson.mapper().readTree(response.body());
                if (body != null && body.has("success")) {
                    return WireJson.mapper().treeToValue(body, LoraReply.class);
                }
            } catch (IOException e) {
                throw response.fault();
            }
        }
        return read(response, LoraReply.class);
    }

    <T> T read(HttpReply response, Class<T> type) throws EngineException {
        response.accepted();
        try {
            T value = REPLIES.forType(type).readValue(response.body());
            if (value == null) {
                throw new EngineException(EngineException.Kind.UNREADABLE, response.status(), response.uri() + " answered null");
            }
            return value;
        } catch (IOException e) {
            String why = e instanceof JsonProcessingException json ? json.getOriginalMessage() : String.valueOf(e.getMessage());
            throw new EngineException(EngineException.Kind.UNREADABLE, response.uri() + " answered what can't be read: " + why.lines().findFirst().orElse(""), e);
        }
    }

    private URI at(String path) {
        return URI.create(base + path);
    }

    private static byte[] bytes(Object request) {
        try {
            return WireJson.mapper().writeValueAsBytes(request);
        } catch (IOException e) {
            throw new IllegalStateException("a request record can always be written", e);
        }
    }

    @Override
    public String toString() {
        return base.toString();
    }
}
