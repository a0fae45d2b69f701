package io.furlong.it.crash;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.furlong.sglang.testing.TinyServer;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.TokenLogprob;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Stands between a controller and one engine: passes everything on, and keeps what the engine served. */
final class Front implements AutoCloseable {
    private final URI engine;
    private final Watcher watcher;
    private final HttpClient client = HttpClient.newHttpClient();
    private final TinyServer server;
    private final ConcurrentLinkedQueue<Served> served = new ConcurrentLinkedQueue<>();

    /** What a call is about. */
    enum Call { LOAD, CANARY, OTHER }

    /** Called by the thread that carries a call, which goes on when it returns and is cut off where it throws. */
    interface Watcher {
        /** @param name the adapter's on the engine; empty where the call is about none */
        void before(Call call, String name) throws IOException, InterruptedException;

        void after(Call call, String name) throws IOException, InterruptedException;
    }

    /**
     * One answer of the engine.
     *
     * @param name    the adapter name that was asked for
     * @param digest  of the weights that made it, as the engine says
     * @param content as in {@link Sampled}
     */
    record Served(String name, String digest, String content) {}

    Front(URI engine, Watcher watcher) {
        this.engine = engine;
        this.watcher = watcher;
        server = new TinyServer(this::pass);
    }

    URI url() {
        return server.url();
    }

    List<Served> served() {
        return List.copyOf(served);
    }

    private TinyServer.Reply pass(TinyServer.Request request) throws IOException, InterruptedException {
        boolean generate = request.path().equals("/generate");
        boolean load = request.path().equals("/load_lora_adapter");
        JsonNode asked = generate || load ? WireJson.mapper().readTree(request.body()) : MissingNode.getInstance();
        String name = asked.path(load ? "lora_name" : "lora_path").asText();
        Call call = load ? Call.LOAD : generate && asked.path("sampling_params").path("temperature").asDouble() == 0 ? Call.CANARY : Call.OTHER;
        watcher.before(call, name);
        HttpResponse<byte[]> answer = client.send(HttpRequest.newBuilder(engine.resolve(request.path() + (request.query().isEmpty() ? "" : "?" + request.query())))
                .method(request.method(), HttpRequest.BodyPublishers.ofByteArray(request.body())).build(), HttpResponse.BodyHandlers.ofByteArray());
        if (answer.statusCode() == 200 && generate) {
            keep(name, WireJson.mapper().convertValue(asked.path("input_ids"), int[].class), read(answer.body()));
        }
        watcher.after(call, name);
        return new TinyServer.Reply(answer.statusCode(), answer.headers().firstValue("content-type").orElse("application/json"), answer.body(), "");
    }

    private void keep(String name, int[] prompt, GenerateResponse answer) {
        List<TokenLogprob> logProbs = answer.metaInfo().outputTokenLogprobs().orElse(List.of());
        float[] values = new float[logProbs.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = logProbs.get(i).logprob();
        }
        served.add(new Served(name, answer.metaInfo().loraDigest().orElse(""), Sampled.content(prompt, answer.outputIds(), values)));
    }

    private static GenerateResponse read(byte[] body) throws IOException {
        try {
            return WireJson.readBody(body, GenerateResponse.class);
        } catch (RejectedRequest e) {
            throw new IOException(e);
        }
    }

    @Override
    public void close() {
        server.close();
        client.close();
    }
}
