package io.furlong.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Plain HTTP against a server in a test; single quotes in bodies stand for double ones. */
final class HttpCalls implements AutoCloseable {
    private final HttpClient client = HttpClient.newHttpClient();
    private final String base;
    private final Map<String, String> headers;

    HttpCalls(int port, Map<String, String> headers) {
        base = "http://127.0.0.1:" + port;
        this.headers = headers;
    }

    record Answer(int status, String type, String body) {
        JsonNode json() {
            try {
                return WireJson.mapper().readTree(body);
            } catch (IOException e) {
                throw new AssertionError(body, e);
            }
        }

        /** The data of each event. */
        List<String> events() {
            return body.lines().filter(l -> l.startsWith("data: ")).map(l -> l.substring(6)).toList();
        }
    }

    Answer post(String path, String body) throws Exception {
        return answer(client.send(request(path).POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))).build(), HttpResponse.BodyHandlers.ofString()));
    }

    CompletableFuture<Answer> posting(String path, String body) {
        return client.sendAsync(request(path).POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))).build(), HttpResponse.BodyHandlers.ofString())
                .thenApply(HttpCalls::answer);
    }

    Answer get(String path) throws Exception {
        return answer(client.send(request(path).GET().build(), HttpResponse.BodyHandlers.ofString()));
    }

    @Override
    public void close() {
        client.shutdownNow();
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
        headers.forEach(request::header);
        return request;
    }

    private static Answer answer(HttpResponse<String> response) {
        return new Answer(response.statusCode(), response.headers().firstValue("content-type").orElse(""), response.body());
    }
}
