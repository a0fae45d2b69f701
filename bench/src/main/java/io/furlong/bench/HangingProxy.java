package io.furlong.bench;

import io.furlong.sglang.testing.TinyServer;
import io.furlong.sglang.testing.TinyServer.Reply;
import io.furlong.sglang.testing.TinyServer.Request;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** Stands in front of an engine that works, and makes it look as if it hung: requests are passed on only once it is let go. */
final class HangingProxy implements AutoCloseable {
    private final URI engine;
    private final HttpClient client = HttpClient.newHttpClient();
    private final AtomicReference<CountDownLatch> gate = new AtomicReference<>(new CountDownLatch(0));
    private final TinyServer server;

    HangingProxy(URI engine) {
        this.engine = engine;
        this.server = new TinyServer(this::pass);
    }

    URI url() {
        return server.url();
    }

    void hang() {
        gate.set(new CountDownLatch(1));
    }

    void letGo() {
        gate.get().countDown();
    }

    private Reply pass(Request request) throws IOException, InterruptedException {
        gate.get().await();
        String query = request.query().isEmpty() ? "" : "?" + request.query();
        HttpResponse<byte[]> reply = client.send(HttpRequest.newBuilder(URI.create(engine + request.path() + query)).header("Content-Type", "application/json")
                .method(request.method(), request.body().length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(request.body())).build(), BodyHandlers.ofByteArray());
        return new Reply(reply.statusCode(), reply.headers().firstValue("Content-Type").orElse("text/plain"), reply.body(), "");
    }

    @Override
    public void close() {
        letGo();
        server.close();
        client.shutdownNow();
        client.close();
    }
}
