package io.furlong.cli.adapters;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.cli.Mistake;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Requests to one control API. What the service refuses is a {@link Mistake} with its own words. */
final class ControlClient implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final URI service;
    private final Optional<String> token;
    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    ControlClient(URI service, Optional<String> token) {
        this.service = service;
        this.token = token;
    }

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static JsonNode tree(Object plain) {
        return JSON.valueToTree(plain);
    }

    /** A name as one part of a path. */
    static String part(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    JsonNode get(String path) throws IOException, InterruptedException {
        return answer(request(path).GET());
    }

    JsonNode send(String method, String path, ObjectNode body) throws IOException, InterruptedException {
        return answer(request(path).header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body.toString())));
    }

    JsonNode delete(String path) throws IOException, InterruptedException {
        return answer(request(path).DELETE());
    }

    /**
     * Hands on each event as it comes; returns when the service ends the stream.
     *
     * @param after events after this id; what happens from now on when empty
     */
    void events(String path, Optional<Long> after, Consumer<JsonNode> taker) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(at(path)).header("Accept", "text/event-stream");
        token.ifPresent(t -> request.header("Authorization", "Bearer " + t));
        after.ifPresent(id -> request.header("Last-Event-ID", Long.toString(id)));
        HttpResponse<Stream<String>> response = connected(request.GET().build(), HttpResponse.BodyHandlers.ofLines());
        try (Stream<String> lines = response.body()) {
            if (response.statusCode() != 200) {
                throw refused(response.statusCode(), String.join("\n", lines.toList()));
            }
            StringBuilder data = new StringBuilder();
            for (String line : (Iterable<String>) lines::iterator) {
                if (line.startsWith("data:")) {
                    data.append(line.substring(5).strip());
                } else if (line.isEmpty() && !data.isEmpty()) {
                    taker.accept(JSON.readTree(data.toString()));
                    data.setLength(0);
                }
            }
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
    }

    private URI at(String path) {
        return URI.create(service.toString().replaceFirst("/+$", "") + path);
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(at(path)).timeout(PATIENCE).header("Accept", "application/json");
        token.ifPresent(t -> request.header("Authorization", "Bearer " + t));
        return request;
    }

    private JsonNode answer(HttpRequest.Builder request) throws IOException, InterruptedException {
        HttpResponse<String> response = connected(request.build(), HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() / 100 != 2) {
            throw refused(response.statusCode(), response.body());
        }
        return JSON.readTree(response.body());
    }

    private <T> HttpResponse<T> connected(HttpRequest request, HttpResponse.BodyHandler<T> body) throws InterruptedException {
        try {
            return http.send(request, body);
        } catch (IOException e) {
            throw new Mistake("no control API answers at " + service + " (" + e.getClass().getSimpleName() + "): is 'furlong serve' running there?");
        }
    }

    private static Mistake refused(int status, String body) {
        try {
            JsonNode detail = JSON.readTree(body).path("detail");
            if (detail.isTextual()) {
                return new Mistake(detail.textValue());
            }
        } catch (JsonProcessingException e) {
            return new Mistake("the service answered " + status + ": " + body.lines().findFirst().orElse(""));
        }
        return new Mistake("the service answered " + status + ": " + body);
    }
}
