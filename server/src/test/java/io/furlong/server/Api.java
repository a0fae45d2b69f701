package io.furlong.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.Limits;
import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.VersionDirectories;
import io.furlong.control.config.AdapterConfigReader;
import io.furlong.control.store.Stores;
import io.furlong.core.Cursor;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import io.furlong.core.StepCommit;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A control server on a registry in memory, and a plain client of it. */
final class Api implements AutoCloseable {
    final Store store = Stores.memory();
    final AdapterRegistry registry;
    final ControlServer server;
    final Figures figures;
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5)).build();
    private Optional<String> token = Optional.empty();

    Api(int adapters) {
        this.registry = AdapterRegistry.open(Limits.of(adapters, () -> 1000), List.of(), store, InstantSource.system(), new VersionDirectories(List.of()));
        ServerOptions options = ServerOptions.loopback(0, AdapterConfigReader.plain(Path.of("/runs/adapters")));
        this.figures = options.figures();
        this.server = ControlServer.start(options, registry);
    }

    record Answer(int status, JsonNode json, String text, HttpResponse<byte[]> raw) {
        String etag() {
            return raw.headers().firstValue("ETag").orElse("");
        }
    }

    Api as(String bearer) {
        token = Optional.of(bearer);
        return this;
    }

    Answer call(String method, String path, byte[] body, String... headers) throws Exception {
        HttpRequest.Builder b = HttpRequest.newBuilder(URI.create(url(path))).timeout(Duration.ofSeconds(20));
        b.method(method, body.length == 0 ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body));
        if (body.length > 0) {
            b.header("Content-Type", "application/json");
        }
        if (headers.length > 0) {
            b.headers(headers);
        }
        token.ifPresent(t -> b.header("Authorization", "Bearer " + t));
        HttpResponse<byte[]> r = client.send(b.build(), HttpResponse.BodyHandlers.ofByteArray());
        String text = new String(r.body(), StandardCharsets.UTF_8);
        boolean json = r.headers().firstValue("Content-Type").orElse("").startsWith("application/json");
        return new Answer(r.statusCode(), new ObjectMapper().readTree(json ? text : "{}"), text, r);
    }

    Answer get(String path, String... headers) throws Exception {
        return call("GET", path, new byte[0], headers);
    }

    Answer post(String path, String json, String... headers) throws Exception {
        return call("POST", path, json.getBytes(StandardCharsets.UTF_8), headers);
    }

    Answer patch(String path, String json, String... headers) throws Exception {
        return call("PATCH", path, json.getBytes(StandardCharsets.UTF_8), headers);
    }

    Answer delete(String path) throws Exception {
        return call("DELETE", path, new byte[0]);
    }

    /** The usual registration body. */
    static String body(String name) {
        return "{\"name\":\"" + name + "\",\"config\":{\"data\":\"/data/x.jsonl\",\"rm_type\":\"exact\",\"num_step\":5,\"save\":\"/save/" + name + "\"}}";
    }

    String url(String path) {
        return "http://127.0.0.1:" + server.port() + path;
    }

    HttpClient client() {
        return client;
    }

    /** Commits a step of a registered adapter and brings it into force. */
    PolicyStamp step(String name, long step) throws Exception {
        Registration r = registry.live(name).orElseThrow();
        long version = registry.nextVersion(r.id());
        String digest = String.format("%064x", version);
        PolicyStamp stamp = new PolicyStamp(r.id(), version, step, digest, PolicyStamp.versionedName(name, r.id(), version, digest));
        registry.commit(new StepCommit(name, stamp, Path.of("/checkpoints", stamp.servedName()), digest,
                new LedgerSnapshot(step * 4, 0, 0, 0, step * 4, Map.of(), 0, 0, Map.of(), Map.of()), Cursor.START, step * 10, step * 10));
        registry.inForce(stamp);
        return stamp;
    }

    /** Ends an adapter that is retiring. */
    void clean(String name) {
        Registration r = registry.live(name).orElseThrow();
        registry.stopped(r.id());
        registry.cleaned(r.id());
    }

    @Override
    public void close() {
        server.close();
        store.close();
    }
}
