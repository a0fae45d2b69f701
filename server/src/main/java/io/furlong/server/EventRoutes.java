package io.furlong.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.ControlEvent;
import io.furlong.control.EventFeed;
import io.furlong.control.Registration;
import io.furlong.server.Access.Caller;
import io.helidon.http.HeaderNames;
import io.helidon.http.sse.SseEvent;
import io.helidon.webserver.http.HttpRules;
import io.helidon.webserver.http.HttpService;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import io.helidon.webserver.sse.SseSink;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * {@code GET /events} and {@code GET /adapter_runs/{name}/events}: server-sent events, each with its id; a client that
 * reconnects with {@code Last-Event-ID} (or {@code ?after=}) misses nothing and gets nothing twice. Without either it gets
 * what happens from now on. With {@code Accept: application/json}, one page of past events instead.
 */
final class EventRoutes implements HttpService {
    private static final int PAGE = 500;
    private static final Duration HEARTBEAT = Duration.ofSeconds(10);

    private final AdapterRegistry registry;
    private final Access access;
    private final AtomicBoolean closing = new AtomicBoolean();

    EventRoutes(AdapterRegistry registry, Access access) {
        this.registry = registry;
        this.access = access;
    }

    @Override
    public void routing(HttpRules rules) {
        rules.get("/events", (request, response) -> {
            Caller caller = access.caller(request.headers());
            events(request, response, caller, Optional.empty());
        });
        rules.get("/adapter_runs/{name}/events", (request, response) -> {
            Caller caller = access.caller(request.headers());
            String name = request.path().pathParameters().get("name");
            Registration r = registry.find(name).filter(caller::sees)
                    .orElseThrow(() -> new ApiException(404, "Adapter '" + name + "' not registered"));
            events(request, response, caller, Optional.of(r.name()));
        });
    }

    /** Ends every open stream at its next heartbeat or event. */
    void close() {
        closing.set(true);
    }

    private void events(ServerRequest request, ServerResponse response, Caller caller, Optional<String> adapter) throws InterruptedException {
        Query query = new Query(request, "after", "limit");
        boolean page = request.headers().first(HeaderNames.ACCEPT).filter(a -> a.contains("application/json")).isPresent();
        long from = request.headers().first(HeaderNames.create("Last-Event-ID")).map(EventRoutes::id)
                .orElseGet(() -> query.number("after", page ? 0 : registry.events().last(), 0, Long.MAX_VALUE));
        if (page) {
            int limit = (int) query.number("limit", PAGE, 1, 10_000);
            EventFeed.Page found = registry.events().after(from, caller.only(), adapter, limit, Duration.ZERO);
            ObjectNode answer = Json.object();
            answer.set("events", AdapterJson.array(found.events().stream().map(AdapterJson::event).toList()));
            Json.send(response, 200, answer.put("next_after", found.upTo()));
            return;
        }
        stream(response, caller, adapter, from);
    }

    private void stream(ServerResponse response, Caller caller, Optional<String> adapter, long from) {
        long at = from;
        try (SseSink sink = response.sink(SseSink.TYPE)) {
            sink.emit(SseEvent.builder().comment("furlong").build());
            while (!closing.get()) {
                EventFeed.Page page = registry.events().after(at, caller.only(), adapter, PAGE, HEARTBEAT);
                if (page.events().isEmpty()) {
                    sink.emit(SseEvent.builder().comment("").build());
                }
                for (ControlEvent e : page.events()) {
                    sink.emit(SseEvent.builder().id(Long.toString(e.id())).name(e.kind())
                            .data(new String(Json.write(AdapterJson.event(e)), StandardCharsets.UTF_8)).build());
                }
                at = page.upTo();
            }
        } catch (UncheckedIOException gone) {
            // The client has left; the next one resumes by id.
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
        }
    }

    private static long id(String text) {
        try {
            return Long.parseLong(text.strip());
        } catch (NumberFormatException e) {
            throw new ApiException(400, "Last-Event-ID: got '" + text + "', must be the id of an event");
        }
    }
}
