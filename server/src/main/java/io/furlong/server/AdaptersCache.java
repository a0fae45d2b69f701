package io.furlong.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The live adapters, as another process sees them through the control API.
 *
 * <p>A view younger than {@code ttl} is given without asking. An older one is confirmed or replaced by one conditional
 * request, however many callers want it at once. While the API can't be reached the last view is given until it is
 * {@code maxAge} old; after that callers are told, rather than served what may be long untrue.
 */
public final class AdaptersCache {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration DEADLINE = Duration.ofSeconds(5);

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(DEADLINE).build();
    private final URI list;
    private final Optional<String> token;
    private final Duration ttl;
    private final Duration maxAge;
    private final InstantSource clock;
    private final ReentrantLock refreshing = new ReentrantLock();
    private volatile Optional<View> view = Optional.empty();

    /**
     * @param confirmed when the API last said that it is so
     * @param adapters  by name, in order of registration
     */
    public record View(Instant confirmed, String tag, Map<String, RemoteAdapter> adapters) {
        public View {
            adapters = Collections.unmodifiableMap(new LinkedHashMap<>(adapters));
        }

        public Optional<RemoteAdapter> find(String name) {
            return Optional.ofNullable(adapters.get(name));
        }
    }

    /** @param servedName what engines know the weights in force by; empty until there are some */
    public record RemoteAdapter(String name, String registration, String phase, long step, long version, Optional<String> servedName) {
        /** True when requests may be sent under this adapter. */
        public boolean sampleable() {
            return servedName.isPresent() && (phase.equals("ACTIVE") || phase.equals("PAUSED"));
        }
    }

    /**
     * @param base  of the control API, such as {@code http://127.0.0.1:8068}
     * @param token sent as bearer token
     */
    public AdaptersCache(URI base, Optional<String> token, Duration ttl, Duration maxAge, InstantSource clock) {
        this.list = URI.create(base.toString().replaceAll("/+$", "") + "/adapter_runs?ended=exclude&limit=10000");
        this.token = token;
        this.ttl = ttl;
        this.maxAge = maxAge;
        this.clock = clock;
    }

    /** @throws IOException when the API can't be reached or refuses, and the last view is too old to go on with */
    public View view() throws IOException, InterruptedException {
        Optional<View> known = view;
        if (known.isPresent() && age(known.get()).compareTo(ttl) < 0) {
            return known.get();
        }
        refreshing.lockInterruptibly();
        try {
            known = view;
            if (known.isPresent() && age(known.get()).compareTo(ttl) < 0) {
                return known.get();
            }
            View fresh = refresh(known);
            view = Optional.of(fresh);
            return fresh;
        } catch (IOException e) {
            if (known.isPresent() && age(known.get()).compareTo(maxAge) < 0) {
                return known.get();
            }
            throw new IOException("control API at " + list.getAuthority() + ": " + e.getMessage(), e);
        } finally {
            refreshing.unlock();
        }
    }

    private Duration age(View v) {
        return Duration.between(v.confirmed(), clock.instant());
    }

    private View refresh(Optional<View> known) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(list).timeout(DEADLINE);
        known.ifPresent(v -> request.header("If-None-Match", v.tag()));
        token.ifPresent(t -> request.header("Authorization", "Bearer " + t));
        Instant asked = clock.instant();
        HttpResponse<byte[]> response = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
        if (response.statusCode() == 304 && known.isPresent()) {
            return new View(asked, known.get().tag(), known.get().adapters());
        }
        if (response.statusCode() != 200) {
            throw new IOException("answered " + response.statusCode());
        }
        Map<String, RemoteAdapter> adapters = new LinkedHashMap<>();
        for (JsonNode a : JSON.readTree(response.body()).path("adapters")) {
            JsonNode served = a.path("in_force").path("served_name");
            adapters.put(a.path("name").asText(), new RemoteAdapter(a.path("name").asText(), a.path("registration_id").asText(),
                    a.path("phase").asText(), a.path("step").asLong(), a.path("version").asLong(),
                    served.isTextual() ? Optional.of(served.asText()) : Optional.empty()));
        }
        return new View(asked, response.headers().firstValue("ETag").orElse(""), adapters);
    }
}
