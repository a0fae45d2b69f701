package io.furlong.server;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.PublishLane;
import io.furlong.control.RefusedException;
import io.furlong.control.StoreException;
import io.furlong.control.StoreProbe;
import io.furlong.control.config.ConfigErrors;
import io.furlong.core.ConfigException;
import io.furlong.core.HealthProbe;
import io.furlong.core.RegistryView.Subscription;
import io.helidon.http.HeaderNames;
import io.helidon.http.HttpException;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerResponse;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP control API of one registry. Listens from construction until it is closed. */
public final class ControlServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlServer.class);

    private final WebServer server;
    private final EventRoutes events;
    private final Scrape scrape;
    private final Subscription subscription;

    private ControlServer(ServerOptions options, AdapterRegistry registry) {
        Access access = new Access(registry.store());
        EntityTags tags = new EntityTags(registry);
        List<HealthProbe> probes = new ArrayList<>(options.probes());
        probes.add(new StoreProbe(registry.store()));
        this.scrape = new Scrape(registry, options.ledgers(), options.figures());
        this.events = new EventRoutes(registry, access);
        this.subscription = new FreshNames(options.figures()).subscribe(registry);
        this.server = WebServer.builder()
                .host(options.host()).port(options.port())
                .shutdownHook(false).shutdownGracePeriod(Duration.ofSeconds(1))
                .maxPayloadSize(-1)
                .routing(routing -> routes(routing, new AdapterRoutes(registry, options, access, tags),
                        new OpsRoutes(probes, scrape, access)))
                .build().start();
    }

    /**
     * @throws IllegalStateException one line, when it would listen beyond loopback without tokens, or the port is taken
     */
    public static ControlServer start(ServerOptions options, AdapterRegistry registry) {
        if (!isLoopback(options.host()) && !registry.store().hasTokens()) {
            throw new IllegalStateException("control API: refusing to listen on " + options.host()
                    + " without tokens; add one, or listen on 127.0.0.1");
        }
        ControlServer started = new ControlServer(options, registry);
        LOG.info("control API on http://{}:{}", options.host(), started.port());
        return started;
    }

    public int port() {
        return server.port();
    }

    /** Counts publishes for {@code /metrics}. */
    public PublishLane.Listener publishes() {
        return scrape;
    }

    private void routes(HttpRouting.Builder routing, AdapterRoutes adapters, OpsRoutes ops) {
        routing.register(ops).register(events).register("/adapter_runs", adapters)
                .any((request, response) -> {
                    throw new ApiException(404, request.prologue().method() + " " + request.path().path() + ": there is no such route; see /openapi.json");
                })
                .error(ApiException.class, (request, response, e) -> problem(response, e.status(), e.problems()))
                .error(RefusedException.class, (request, response, e) -> problem(response, ApiException.of(e).status(), e.problems()))
                .error(ConfigErrors.class, (request, response, e) -> problem(response, 400, e.lines()))
                .error(ConfigException.class, (request, response, e) -> problem(response, 400, List.of(e.getMessage())))
                .error(HttpException.class, (request, response, e) -> problem(response, e.status().code(), List.of(String.valueOf(e.getMessage()))))
                .error(StoreException.class, (request, response, e) -> {
                    LOG.error("{} {}", request.prologue().method(), request.path().path(), e);
                    problem(response, 503, List.of(e.getMessage()));
                })
                .error(Throwable.class, (request, response, e) -> {
                    LOG.error("{} {}", request.prologue().method(), request.path().path(), e);
                    problem(response, 500, List.of("a defect of Furlong; the log has the details"));
                });
    }

    private static void problem(ServerResponse response, int status, List<String> problems) {
        if (status == 401) {
            response.header(HeaderNames.WWW_AUTHENTICATE, "Bearer");
        }
        ObjectNode body = Json.object().put("detail", String.join("; ", problems));
        problems.forEach(body.putArray("problems")::add);
        Json.send(response, status, body);
    }

    private static boolean isLoopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }

    @Override
    public void close() {
        subscription.close();
        events.close();
        server.stop();
    }
}
