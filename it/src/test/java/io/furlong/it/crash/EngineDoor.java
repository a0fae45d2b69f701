package io.furlong.it.crash;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Stands before an engine, lets everything through, and remembers what changes the engine or gives it work. */
final class EngineDoor implements AutoCloseable {
    private final HttpServer server;
    private final HttpClient client = HttpClient.newHttpClient();
    private final URI engine;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition came = lock.newCondition();
    private final List<String> posts = new ArrayList<>();

    EngineDoor(URI engine) throws IOException {
        this.engine = engine;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", this::pass);
        server.start();
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Paths of all POSTs until now. */
    List<String> posts() {
        lock.lock();
        try {
            return List.copyOf(posts);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until so many POSTs to a path have come; false when they don't. */
    boolean await(String path, int count) throws InterruptedException {
        long left = TimeUnit.SECONDS.toNanos(120);
        lock.lock();
        try {
            while (posts.stream().filter(path::equals).count() < count) {
                if (left <= 0) {
                    return false;
                }
                left = came.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void pass(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            if (exchange.getRequestMethod().equals("POST")) {
                lock.lock();
                try {
                    posts.add(exchange.getRequestURI().getPath());
                    came.signalAll();
                } finally {
                    lock.unlock();
                }
            }
            HttpResponse<byte[]> answer = client.send(HttpRequest.newBuilder(engine.resolve(exchange.getRequestURI().toString()))
                    .header("Content-Type", "application/json")
                    .method(exchange.getRequestMethod(), HttpRequest.BodyPublishers.ofByteArray(body)).build(), HttpResponse.BodyHandlers.ofByteArray());
            exchange.sendResponseHeaders(answer.statusCode(), answer.body().length == 0 ? -1 : answer.body().length);
            exchange.getResponseBody().write(answer.body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        server.stop(0);
        client.shutdownNow();
    }
}
