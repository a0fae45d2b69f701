package io.furlong.engine;

import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.Loads;
import io.furlong.wire.ModelInfo;
import io.furlong.wire.ModelList;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.SamplingParams;
import io.furlong.wire.ServerInfo;
import io.furlong.wire.WireJson;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** What an engine says about itself. */
final class InfoRoutes {
    /** SGLang's {@code SGLANG_HEALTH_CHECK_TIMEOUT}. */
    private static final Duration HEALTH_PATIENCE = Duration.ofSeconds(20);

    private final Engine engine;
    private final Supplier<String> weightVersion;
    private final InstantSource clock;
    private final long created;

    InfoRoutes(Engine engine, Supplier<String> weightVersion, InstantSource clock) {
        this.engine = engine;
        this.weightVersion = weightVersion;
        this.clock = clock;
        created = clock.instant().getEpochSecond();
    }

    /** 200 if the engine's thread answers; generates nothing, so a paused engine is healthy. */
    void health(ServerRequest request, ServerResponse response) throws InterruptedException {
        response.status(engine.alive(HEALTH_PATIENCE) ? 200 : 503).send();
    }

    /** Generates one token; a paused engine can't, and answers like {@link #health}. */
    void healthGenerate(ServerRequest request, ServerResponse response) throws InterruptedException {
        if (!engine.alive(HEALTH_PATIENCE)) {
            response.status(503).send();
            return;
        }
        boolean generated = engine.paused();
        if (!generated) {
            try {
                Generation probe = engine.submit(GenerateRequest.ofIds(new int[] {0}, SamplingParams.builder().maxNewTokens(1).temperature(0).build()));
                generated = probe.next(HEALTH_PATIENCE).isPresent();
                probe.abandon();
            } catch (RejectedRequest e) {
                // A full engine can't generate; it says so with 503.
            }
        }
        response.status(generated ? 200 : 503).send();
    }

    void modelInfo(ServerRequest request, ServerResponse response) {
        EngineServer.json(response, 200, WireJson.write(new ModelInfo(modelPath(), Optional.of(servedName()),
                engine.tokenizer().map(t -> modelPath()), true, Optional.of(weightVersion.get()),
                Optional.of(engine.config().family().modelType()), Optional.of(List.of(engine.config().family().architecture())))));
    }

    void serverInfo(ServerRequest request, ServerResponse response) {
        EngineOptions o = engine.options();
        EngineServer.json(response, 200, WireJson.write(new ServerInfo(Optional.of(modelPath()), Optional.of(servedName()), Optional.of(version()),
                Optional.of("ready"), Optional.of(o.enableLora()), o.maxLoraRank(), OptionalInt.of(o.maxLorasPerBatch()), o.maxLoadedLoras(),
                Optional.of(List.of("all")), OptionalInt.of(1), OptionalInt.of(1), OptionalInt.of(engine.contextLength()),
                OptionalInt.of(engine.totalTokens()), OptionalInt.of(Math.min(engine.contextLength() - 1, engine.totalTokens() - 1)),
                OptionalInt.of(o.maxRunningRequests()), Optional.of(o.skipTokenizerInit()), Optional.of(o.enableDeterministicInference()),
                Optional.of(o.incrementalStreamingOutput()),
                Optional.of(new ServerInfo.Furlong(true, true, true, engine.tokenizer().map(HfTokenizer::fingerprint))))));
    }

    void models(ServerRequest request, ServerResponse response) {
        List<ModelList.Card> cards = new ArrayList<>();
        cards.add(new ModelList.Card(servedName(), "model", OptionalLong.of(created), "sglang", Optional.of(modelPath()), Optional.empty(),
                OptionalInt.of(engine.contextLength())));
        for (AdapterInfo adapter : engine.adapters()) {
            cards.add(new ModelList.Card(adapter.name(), "model", OptionalLong.of(created), "sglang", adapter.path().map(Path::toString),
                    Optional.of(servedName()), OptionalInt.empty()));
        }
        EngineServer.json(response, 200, WireJson.write(new ModelList("list", cards)));
    }

    /** Knows the base model only, as in SGLang. */
    void model(ServerRequest request, ServerResponse response) throws RejectedRequest {
        String name = request.path().pathParameters().get("model");
        if (!name.equals(servedName())) {
            throw new RejectedRequest(ErrorReply.modelNotFound(name));
        }
        EngineServer.json(response, 200, WireJson.write(new ModelList.Card(servedName(), "model", OptionalLong.of(created), "sglang",
                Optional.of(modelPath()), Optional.empty(), OptionalInt.of(engine.contextLength()))));
    }

    void loads(ServerRequest request, ServerResponse response) {
        EngineLoad load = engine.load();
        double usage = load.usedTokens() / (double) load.maxTokens();
        Loads.Load one = new Loads.Load(0, load.running(), load.waiting(), load.usedTokens(), load.maxTokens(), load.maxRunning(), usage,
                load.tokensPerSecond(), load.cacheHitRate(), Optional.of(new Loads.Lora(load.adaptersInBatch(), load.maxAdaptersInBatch(),
                load.adaptersInBatch() / (double) load.maxAdaptersInBatch())), Optional.of(new Loads.Queues(load.waiting(), 0)));
        EngineServer.json(response, 200, WireJson.write(new Loads(Optional.of(clock.instant().toString()), Optional.of(version()), List.of(one))));
    }

    private String modelPath() {
        return engine.options().model().toString();
    }

    private String servedName() {
        return engine.options().servedModelName().orElseGet(this::modelPath);
    }

    private static String version() {
        return "furlong-" + Optional.ofNullable(InfoRoutes.class.getPackage().getImplementationVersion()).orElse("dev");
    }
}
