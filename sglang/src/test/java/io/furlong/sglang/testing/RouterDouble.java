package io.furlong.sglang.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.sglang.testing.TinyServer.Reply;
import io.furlong.sglang.testing.TinyServer.Request;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * SGLang's router as a client sees it: {@code /generate} to one worker after the other, a list of workers, and 404 for everything about
 * adapters. Adds no retries. One lock guards the list of workers.
 */
public final class RouterDouble implements AutoCloseable {
    /** Which generation of the router. */
    public enum Kind {
        /** {@code /workers}, with additions and removals. */
        GATEWAY,
        /** {@code /list_workers} only. */
        OLDER
    }

    private final Kind kind;
    private final TinyServer server;
    private final HttpClient client = HttpClient.newHttpClient();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<String, URI> workers = new LinkedHashMap<>();
    private final List<String> calls = new CopyOnWriteArrayList<>();
    private int turn;
    private int ids;

    public RouterDouble(Kind kind, List<URI> initial) {
        this.kind = kind;
        initial.forEach(u -> workers.put("w" + ids++, u));
        this.server = new TinyServer(this::handle);
    }

    public URI url() {
        return server.url();
    }

    public List<String> calls() {
        return List.copyOf(calls);
    }

    public List<URI> workers() {
        lock.lock();
        try {
            return List.copyOf(workers.values());
        } finally {
            lock.unlock();
        }
    }

    /** Returns when it has so many workers. */
    public void awaitWorkers(int n) throws InterruptedException {
        long left = TimeUnit.SECONDS.toNanos(20);
        lock.lockInterruptibly();
        try {
            while (workers.size() != n) {
                if (left <= 0) {
                    throw new AssertionError("after 20 s the router has the workers " + workers.values());
                }
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Lists this as another rank of a worker it has. */
    public void addRank(URI worker, int rank) {
        lock.lock();
        try {
            workers.put("w" + ids++, URI.create("http://" + worker.getAuthority() + "@" + rank));
        } finally {
            lock.unlock();
        }
    }

    /** Somebody tells it of a worker. */
    public void add(URI worker) {
        lock.lock();
        try {
            workers.put("w" + ids++, worker);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Comes back without any worker. */
    public void restartEmpty() {
        server.kill();
        lock.lock();
        try {
            workers.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        server.start();
    }

    public void cutAll() {
        server.cutAll();
    }

    @Override
    public void close() {
        server.close();
        client.close();
    }

    private Reply handle(Request request) throws IOException, InterruptedException {
        calls.add(request.method() + " " + request.path());
        if (request.path().equals("/generate")) {
            return forward(request);
        }
        if (kind == Kind.OLDER) {
            return request.path().equals("/list_workers") ? Reply.json(200, urls()) : Reply.json(404, "");
        }
        if (request.path().equals("/workers")) {
            return request.method().equals("POST") ? add(request) : Reply.json(200, list());
        }
        if (request.path().startsWith("/workers/") && request.method().equals("DELETE")) {
            lock.lock();
            try {
                changed.signalAll();
                return workers.remove(request.path().substring(9)) == null ? Reply.json(404, "{\"error\":\"x\",\"code\":\"WORKER_NOT_FOUND\"}") : Reply.json(202, "{}");
            } finally {
                lock.unlock();
            }
        }
        return Reply.json(404, "");
    }

    private Reply forward(Request request) throws IOException, InterruptedException {
        URI target;
        lock.lock();
        try {
            if (workers.isEmpty()) {
                return new Reply(503, "application/json", "{\"error\":{\"type\":\"Service Unavailable\",\"code\":\"no_available_workers\",\"message\":\"none\"}}".getBytes(StandardCharsets.UTF_8),
                        "X-SMG-Error-Code: no_available_workers");
            }
            List<URI> all = new ArrayList<>(workers.values());
            target = all.get(turn++ % all.size());
        } finally {
            lock.unlock();
        }
        String base = target.toString().replaceAll("@\\d+$", "");
        try {
            HttpResponse<byte[]> reply = client.send(HttpRequest.newBuilder(URI.create(base + "/generate")).POST(HttpRequest.BodyPublishers.ofByteArray(request.body())).build(),
                    HttpResponse.BodyHandlers.ofByteArray());
            return new Reply(reply.statusCode(), reply.headers().firstValue("Content-Type").orElse("text/plain"), reply.body(), "");
        } catch (IOException e) {
            return new Reply(500, "application/json", "{\"error\":{\"type\":\"Internal Server Error\",\"code\":\"call_upstream_failed\",\"message\":\"down\"}}".getBytes(StandardCharsets.UTF_8),
                    "X-SMG-Error-Code: call_upstream_failed");
        }
    }

    private Reply add(Request request) throws IOException {
        JsonNode body = WireJson.mapper().readTree(request.body());
        lock.lock();
        try {
            workers.put("w" + ids++, URI.create(body.path("url").asText()));
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        return Reply.json(202, "{\"status\":\"accepted\"}");
    }

    private String list() {
        ObjectNode reply = WireJson.mapper().createObjectNode();
        lock.lock();
        try {
            workers.forEach((id, url) -> reply.withArray("workers").addObject().put("id", id).put("url", url.toString()).put("is_healthy", true));
            if (workers.isEmpty()) {
                reply.putArray("workers");
            }
            return reply.put("total", workers.size()).toString();
        } finally {
            lock.unlock();
        }
    }

    private String urls() {
        ObjectNode reply = WireJson.mapper().createObjectNode();
        lock.lock();
        try {
            workers.values().forEach(u -> reply.withArray("urls").add(u.toString()));
            return reply.toString();
        } finally {
            lock.unlock();
        }
    }
}
