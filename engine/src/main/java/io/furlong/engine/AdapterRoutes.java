package io.furlong.engine;

import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.LoraReply;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.UnloadLoraRequest;
import io.furlong.wire.WireJson;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;

/** {@code /load_lora_adapter} and {@code /unload_lora_adapter}: 200 if it worked, 400 with the reason if not. */
final class AdapterRoutes {
    /** Stands for the path of an adapter that was handed over in memory. */
    private static final String IN_MEMORY = "(in memory)";

    private final Engine engine;

    AdapterRoutes(Engine engine) {
        this.engine = engine;
    }

    void load(ServerRequest request, ServerResponse response) throws RejectedRequest {
        LoadLoraRequest ask = WireJson.readBody(EngineServer.body(request), LoadLoraRequest.class);
        LoraReply reply;
        try {
            engine.load(ask);
            reply = LoraReply.done(paths());
        } catch (AdapterRefused e) {
            reply = LoraReply.failed(e.getMessage(), paths());
        }
        answer(response, reply);
    }

    /** Answers when no request uses the adapter any more, as SGLang does. */
    void unload(ServerRequest request, ServerResponse response) throws RejectedRequest, InterruptedException {
        UnloadLoraRequest ask = WireJson.readBody(EngineServer.body(request), UnloadLoraRequest.class);
        LoraReply reply;
        try {
            engine.unload(ask.loraName()).get();
            reply = LoraReply.done(paths());
        } catch (AdapterRefused e) {
            reply = LoraReply.failed(e.getMessage(), paths());
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
        answer(response, reply);
    }

    private Map<String, String> paths() {
        Map<String, String> paths = new TreeMap<>();
        engine.adapters().forEach(adapter -> paths.put(adapter.name(), adapter.path().map(Path::toString).orElse(IN_MEMORY)));
        return paths;
    }

    private static void answer(ServerResponse response, LoraReply reply) {
        EngineServer.json(response, reply.success() ? 200 : 400, WireJson.write(reply));
    }
}
