package io.furlong.server;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.core.HealthProbe;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.webserver.http.HttpRules;
import io.helidon.webserver.http.HttpService;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** {@code /health}, {@code /ready}, {@code /metrics}, {@code /openapi.json}. */
final class OpsRoutes implements HttpService {
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final List<HealthProbe> probes;
    private final Scrape scrape;
    private final Access access;
    private final byte[] openapi;

    OpsRoutes(List<HealthProbe> probes, Scrape scrape, Access access) {
        this.probes = probes;
        this.scrape = scrape;
        this.access = access;
        try (InputStream in = OpsRoutes.class.getResourceAsStream("openapi.json")) {
            this.openapi = in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void routing(HttpRules rules) {
        rules.get("/health", (request, response) -> Json.send(response, 200, Json.object().put("status", "healthy")));
        rules.get("/ready", this::ready);
        rules.get("/metrics", this::metrics);
        rules.get("/openapi.json", (request, response) -> response.header(HeaderValues.CONTENT_TYPE_JSON).send(openapi));
    }

    /** Asks every probe at once; one that doesn't answer in time is down. */
    private void ready(ServerRequest request, ServerResponse response) throws InterruptedException {
        List<FutureTask<HealthProbe.Health>> asked = new ArrayList<>();
        for (HealthProbe probe : probes) {
            FutureTask<HealthProbe.Health> task = new FutureTask<>(probe::check);
            Thread.ofVirtual().name("probe-" + probe.name()).start(task);
            asked.add(task);
        }
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        ObjectNode answer = Json.object();
        ArrayNode checks = answer.putArray("checks");
        boolean up = true;
        for (int i = 0; i < probes.size(); i++) {
            HealthProbe.Health health = answerOf(asked.get(i), deadline);
            up &= health.status() == HealthProbe.Health.Status.UP;
            checks.addObject().put("name", probes.get(i).name()).put("status", health.status().name()).put("detail", health.detail());
        }
        answer.put("status", up ? "ready" : "not ready");
        Json.send(response, up ? 200 : 503, answer);
    }

    private static HealthProbe.Health answerOf(FutureTask<HealthProbe.Health> task, long deadline) throws InterruptedException {
        try {
            return task.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            task.cancel(true);
            return new HealthProbe.Health(HealthProbe.Health.Status.DOWN, "no answer within " + PATIENCE.toSeconds() + " s");
        } catch (ExecutionException e) {
            return new HealthProbe.Health(HealthProbe.Health.Status.DOWN, String.valueOf(e.getCause()));
        }
    }

    private void metrics(ServerRequest request, ServerResponse response) {
        Access.Caller caller = access.caller(request.headers());
        response.header(HeaderNames.CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8").send(scrape.text(caller));
    }
}
