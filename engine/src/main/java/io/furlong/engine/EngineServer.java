package io.furlong.engine;

import io.furlong.torch.BaseModel;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.RejectedRequest;
import io.helidon.http.HeaderNames;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.FilterChain;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.RoutingRequest;
import io.helidon.webserver.http.RoutingResponse;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An engine behind SGLang's HTTP API. Paths, status codes and bodies are SGLang's; what goes beyond its releases ({@code upsert}, {@code prefix},
 * {@code lora_versions}, {@code lora_digest}) is announced in {@code /server_info}.
 *
 * <p>With {@code --api-key} every request but the health checks must carry it as bearer token.
 */
public final class EngineServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineServer.class);
    private static final long MOST_BYTES_IN_A_BODY = 64L << 20;
    private static final Duration GRACE = Duration.ofSeconds(2);

    private final Engine engine;
    private final WebServer web;

    private EngineServer(Engine engine) {
        this.engine = engine;
        EngineOptions options = engine.options();
        web = WebServer.builder()
                .host(options.host())
                .port(options.port())
                .shutdownHook(false)
                .shutdownGracePeriod(GRACE)
                .maxPayloadSize(MOST_BYTES_IN_A_BODY)
                .protocolsDiscoverServices(false)
                .addConnectionSelector(new ClientWatch())
                .routing(routes -> route(routes, engine))
                .build()
                .start();
        LOG.info("serving {} on http://{}:{}", options.model(), options.host(), web.port());
    }

    /** Loads the model and listens. */
    public static EngineServer start(EngineOptions options) {
        return start(Engine.start(options));
    }

    /** The same over a base that is already loaded; see {@link Engine#start(EngineOptions, BaseModel)}. */
    public static EngineServer start(EngineOptions options, BaseModel base) {
        return start(Engine.start(options, base));
    }

    private static EngineServer start(Engine engine) {
        try {
            return new EngineServer(engine);
        } catch (RuntimeException e) {
            engine.close();
            throw e;
        }
    }

    public int port() {
        return web.port();
    }

    /** For calls within this process. */
    public Engine engine() {
        return engine;
    }

    /** Aborts what runs and stops listening. */
    @Override
    public void close() {
        engine.abortAll();
        web.stop();
        engine.close();
    }

    private static void route(HttpRouting.Builder routes, Engine engine) {
        AtomicReference<String> weightVersion = new AtomicReference<>("default");
        GenerateRoute generate = new GenerateRoute(engine, weightVersion::get);
        AdapterRoutes adapters = new AdapterRoutes(engine);
        ControlRoutes control = new ControlRoutes(engine, weightVersion);
        InfoRoutes info = new InfoRoutes(engine, weightVersion::get, InstantSource.system());
        engine.options().apiKey().ifPresent(key -> routes.addFilter((chain, request, response) -> authorise(key, chain, request, response)));
        routes.error(RejectedRequest.class, (request, response, e) -> error(response, e.reply()))
                .error(Exception.class, (request, response, e) -> {
                    LOG.error("{} {} failed", request.prologue().method(), request.path().path(), e);
                    error(response, ErrorReply.uncaught(String.valueOf(e.getMessage())));
                })
                .post("/generate", generate::handle)
                .put("/generate", generate::handle)
                .post("/load_lora_adapter", adapters::load)
                .post("/unload_lora_adapter", adapters::unload)
                .post("/abort_request", control::abort)
                .post("/pause_generation", control::pause)
                .post("/continue_generation", control::resume)
                .post("/update_weight_version", control::relabel)
                .post("/flush_cache", control::flush)
                .get("/flush_cache", control::flush)
                .get("/health", info::health)
                .get("/health_generate", info::healthGenerate)
                .get("/model_info", info::modelInfo)
                .get("/get_model_info", info::modelInfo)
                .get("/server_info", info::serverInfo)
                .get("/get_server_info", info::serverInfo)
                .get("/v1/models", info::models)
                .get("/v1/models/{model}", info::model)
                .get("/v1/loads", info::loads);
    }

    private static void authorise(String key, FilterChain chain, RoutingRequest request, RoutingResponse response) {
        boolean open = request.path().path().startsWith("/health");
        Optional<String> given = request.headers().first(HeaderNames.AUTHORIZATION);
        if (open || given.isPresent() && same(given.get(), "Bearer " + key)) {
            chain.proceed();
        } else {
            error(response, ErrorReply.unauthorized());
        }
    }

    private static boolean same(String a, String b) {
        return MessageDigest.isEqual(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
    }

    /** All of it; empty if there is none. */
    static byte[] body(ServerRequest request) {
        return request.content().hasEntity() ? request.content().as(byte[].class) : new byte[0];
    }

    static void json(ServerResponse response, int status, String body) {
        send(response, status, "application/json", body);
    }

    static void text(ServerResponse response, int status, String body) {
        send(response, status, "text/plain; charset=utf-8", body);
    }

    private static void error(ServerResponse response, ErrorReply reply) {
        if (reply.status() == 500) {
            LOG.warn("answered 500: {}", reply.message());
        }
        if (reply.json()) {
            json(response, reply.status(), reply.body());
        } else {
            text(response, reply.status(), reply.body());
        }
    }

    private static void send(ServerResponse response, int status, String type, String body) {
        response.headers().set(HeaderNames.CONTENT_TYPE, type);
        response.status(status).send(body.getBytes(StandardCharsets.UTF_8));
    }
}
