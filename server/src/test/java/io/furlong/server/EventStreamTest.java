package io.furlong.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EventStreamTest {
    private final Api api = new Api(8);

    @AfterEach
    void close() {
        api.close();
    }

    private record Event(long id, String kind, JsonNode data) {}

    /** Reads events from an open stream. */
    private static final class Stream implements AutoCloseable {
        private final InputStream body;
        private final BufferedReader lines;

        Stream(HttpResponse<InputStream> response) {
            assertThat(response.statusCode()).isEqualTo(200);
            assertThat(response.headers().firstValue("Content-Type").orElse("")).startsWith("text/event-stream");
            body = response.body();
            lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
        }

        List<Event> take(int count) throws Exception {
            List<Event> events = new ArrayList<>();
            long id = -1;
            String kind = "";
            while (events.size() < count) {
                String line = lines.readLine();
                if (line.startsWith("id:")) {
                    id = Long.parseLong(line.substring(3).strip());
                } else if (line.startsWith("event:")) {
                    kind = line.substring(6).strip();
                } else if (line.startsWith("data:")) {
                    events.add(new Event(id, kind, new ObjectMapper().readTree(line.substring(5))));
                }
            }
            return events;
        }

        @Override
        public void close() throws Exception {
            body.close();
        }
    }

    private Stream open(String path, String... headers) throws Exception {
        HttpRequest.Builder b = HttpRequest.newBuilder(URI.create(api.url(path)));
        if (headers.length > 0) {
            b.headers(headers);
        }
        return new Stream(api.client().send(b.build(), HttpResponse.BodyHandlers.ofInputStream()));
    }

    @Test
    void a_client_that_comes_back_with_the_last_id_misses_nothing_and_gets_nothing_twice() throws Exception {
        List<Event> seen = new ArrayList<>();
        try (Stream first = open("/events?after=0")) {
            api.post("/adapter_runs", Api.body("a"));
            api.step("a", 0);
            seen.addAll(first.take(2));
        }
        api.step("a", 1);
        api.step("a", 2);
        try (Stream second = open("/events", "Last-Event-ID", Long.toString(seen.getLast().id()))) {
            api.step("a", 3);
            seen.addAll(second.take(7));
        }
        assertThat(seen.stream().map(Event::id)).containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
        assertThat(seen.stream().map(Event::kind)).startsWith("registered", "committed", "in_force", "committed");
        assertThat(seen.getLast().data().path("detail").path("step").asLong()).isEqualTo(3);
    }

    @Test
    void events_of_one_adapter_are_its_own() throws Exception {
        api.post("/adapter_runs", Api.body("a"));
        api.post("/adapter_runs", Api.body("b"));
        api.step("b", 0);
        try (Stream b = open("/adapter_runs/b/events?after=0")) {
            assertThat(b.take(3).stream().map(e -> e.data().path("adapter").asText())).containsOnly("b");
        }
        assertThat(api.get("/adapter_runs/nobody/events").status()).isEqualTo(404);
    }

    @Test
    void a_tenant_gets_no_event_of_another_even_when_it_resumes() throws Exception {
        String acme = Access.issue(api.store, "acme", "t", Instant.EPOCH);
        String other = Access.issue(api.store, "other", "t", Instant.EPOCH);
        api.as(acme).post("/adapter_runs", Api.body("a"));
        try (Stream stream = open("/events?after=0", "Authorization", "Bearer " + other)) {
            api.step("a", 0);
            api.as(other).post("/adapter_runs", Api.body("o"));
            assertThat(stream.take(1).getFirst().data().path("adapter").asText()).isEqualTo("o");
        }
        assertThat(open("/events?after=0", "Authorization", "Bearer " + acme).take(3).stream().map(e -> e.data().path("adapter").asText()))
                .containsOnly("a");
    }

    @Test
    void past_events_come_in_pages() throws Exception {
        api.post("/adapter_runs", Api.body("a"));
        api.step("a", 0);
        api.step("a", 1);
        JsonNode page = api.get("/events?limit=3", "Accept", "application/json").json();
        assertThat(page.path("events")).hasSize(3);
        JsonNode rest = api.get("/events?after=" + page.path("next_after").asLong(), "Accept", "application/json").json();
        assertThat(rest.path("events").get(0).path("id").asLong()).isEqualTo(4);
        assertThat(rest.path("events")).hasSize(2);
    }
}
