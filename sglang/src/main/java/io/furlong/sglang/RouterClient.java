package io.furlong.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Which engines SGLang's router has, and how it is told of others. Two generations: {@code /workers} (gateway 0.3, smg), and
 * {@code /list_workers} (router up to 0.2.1, Miles' own), which can only be read here.
 */
final class RouterClient {
    private final Http http;
    private final URI base;

    RouterClient(Http http, URI base) {
        this.http = http;
        this.base = URI.create(base.toString().replaceAll("/+$", ""));
    }

    URI base() {
        return base;
    }

    /**
     * The router's workers: id by base URL, {@code @rank} of data-parallel ones stripped, each once. Empty if this is no router at all.
     * For the older kind the id is the URL.
     */
    Optional<Map<URI, String>> workers(Duration deadline) throws EngineException, InterruptedException {
        Optional<JsonNode> newer = json("/workers", deadline);
        if (newer.isPresent() && newer.get().path("workers").isArray()) {
            Map<URI, String> byUrl = new LinkedHashMap<>();
            for (JsonNode worker : newer.get().path("workers")) {
                byUrl.putIfAbsent(base(worker.path("url").asText()), worker.path("id").asText(worker.path("url").asText()));
            }
            return Optional.of(byUrl);
        }
        Optional<JsonNode> older = json("/list_workers", deadline);
        if (older.isPresent() && older.get().path("urls").isArray()) {
            Map<URI, String> byUrl = new LinkedHashMap<>();
            for (JsonNode url : older.get().path("urls")) {
                byUrl.putIfAbsent(base(url.asText()), url.asText());
            }
            return Optional.of(byUrl);
        }
        return Optional.empty();
    }

    /** Asks the router to take the engine; it does so some time later. */
    void add(URI engine, Duration deadline) throws EngineException, InterruptedException {
        byte[] body = WireJson.write(Map.of("url", engine.toString())).getBytes(StandardCharsets.UTF_8);
        http.post(URI.create(base + "/workers"), body).await(deadline).accepted();
    }

    void remove(String id, Duration deadline) throws EngineException, InterruptedException {
        http.delete(URI.create(base + "/workers/" + id)).await(deadline).accepted();
    }

    private Optional<JsonNode> json(String path, Duration deadline) throws EngineException, InterruptedException {
        HttpReply response = http.get(URI.create(base + path)).await(deadline);
        if (response.status() == 404 || response.status() == 405) {
            return Optional.empty();
        }
        response.accepted();
        try {
            return Optional.of(WireJson.mapper().readTree(response.body()));
        } catch (IOException e) {
            throw new EngineException(EngineException.Kind.UNREADABLE, base + path + " answered what can't be read", e);
        }
    }

    /** {@code http://host:port@3} is rank 3 of one server. */
    static URI base(String url) {
        return URI.create(url.replaceAll("@\\d+$", "").replaceAll("/+$", ""));
    }
}
