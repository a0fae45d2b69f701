package io.furlong.cli.run;

import io.furlong.cli.config.EngineConfig;
import io.furlong.cli.config.RunConfig;
import io.furlong.core.AdapterPublisher;
import io.furlong.core.ConfigCheck;
import io.furlong.core.HealthProbe;
import io.furlong.core.Sampler;
import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.sglang.EngineCheck;
import io.furlong.sglang.EngineState;
import io.furlong.sglang.Fleet;
import io.furlong.sglang.FleetConfig;
import io.furlong.sglang.FleetException;
import io.furlong.sglang.FleetHealth;
import io.furlong.sglang.FleetPublisher;
import io.furlong.sglang.Http;
import io.furlong.sglang.ModelShape;
import io.furlong.sglang.SamplerLimits;
import io.furlong.sglang.SglangSampler;
import io.furlong.torch.BaseModel;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Where a run's rollouts come from: the embedded engine in this process, spoken to over real HTTP on loopback, or a fleet of SGLang servers.
 */
final class Engines implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Sampler sampler;
    private final AdapterPublisher publisher;
    private final Fleet fleet;
    private final Deque<AutoCloseable> open;

    private Engines(Sampler sampler, AdapterPublisher publisher, Fleet fleet, Deque<AutoCloseable> open) {
        this.sampler = sampler;
        this.publisher = publisher;
        this.fleet = fleet;
        this.open = open;
    }

    /**
     * @param mayAct asked before every call that changes an engine or gives it work; nothing is sent while it says no
     * @throws FleetException when no engine is ready in time
     */
    static Engines start(RunConfig config, BaseModel base, BooleanSupplier mayAct, RunObserver observer) throws IOException, FleetException, InterruptedException {
        Deque<AutoCloseable> open = new ArrayDeque<>();
        try {
            return switch (config.engine()) {
                case EngineConfig.Embedded embedded -> embedded(config, embedded, base, mayAct, observer, open);
                case EngineConfig.Fleet fleet -> fleet(config, fleet, mayAct, open);
            };
        } catch (IOException | FleetException | InterruptedException | RuntimeException e) {
            closeAll(open);
            throw e;
        }
    }

    private static Engines embedded(RunConfig config, EngineConfig.Embedded engine, BaseModel base, BooleanSupplier mayAct, RunObserver observer,
            Deque<AutoCloseable> open)
            throws FleetException, InterruptedException {
        EngineOptions options = EngineOptions.builder(config.model())
                .enableDeterministicInference(config.repeatability() == RunConfig.Repeatability.DETERMINISTIC)
                .maxLorasPerBatch(places(config))
                .maxLoraRank(config.lora().maxRank())
                .maxRunningRequests(engine.concurrency())
                .randomSeed(config.seed())
                .build();
        EngineServer server = EngineServer.start(options, base);
        open.push(server);
        Http http = Http.open(mayAct);
        open.push(http);
        URI url = URI.create("http://" + options.host() + ":" + server.port());
        Fleet fleet = Fleet.direct(http, List.of(url), FleetConfig.DIRECT.withPublish(FleetConfig.Publish.ELSEWHERE), PATIENCE);
        open.push(fleet);
        return new Engines(new LeaderSampler(new SglangSampler(fleet, SamplerLimits.DEFAULT), mayAct), new DirectPublisher(server.engine(), engine.publish(), places(config), observer), fleet, open);
    }

    private static Engines fleet(RunConfig config, EngineConfig.Fleet engine, BooleanSupplier mayAct, Deque<AutoCloseable> open)
            throws IOException, FleetException, InterruptedException {
        Http http = Http.open(mayAct);
        open.push(http);
        FleetConfig how = FleetConfig.DIRECT.withPublish(switch (engine.publish()) {
            case VERSIONED -> FleetConfig.Publish.VERSIONED;
            case SLOT -> FleetConfig.Publish.SLOT;
        });
        Fleet.Routing routing = switch (engine.routing()) {
            case ROUTER -> Fleet.Routing.ROUTER;
            case DIRECT -> Fleet.Routing.DIRECT;
        };
        Fleet fleet = engine.managed().isEmpty() ? Fleet.at(http, engine.url(), routing, how, PATIENCE)
                : Fleet.managing(http, engine.url(), engine.managed(), how, PATIENCE);
        open.push(fleet);
        return new Engines(new LeaderSampler(new SglangSampler(fleet, SamplerLimits.DEFAULT), mayAct), new FleetPublisher(fleet, ModelShape.read(config.model())), fleet, open);
    }

    /** Adapter places an engine of our own gets: one a slot where weights are replaced in place, else what the file's adapters need and at
     * least one a slot more; and two to spare. */
    private static int places(RunConfig config) {
        if (config.engine().publish() == EngineConfig.Publish.SLOT) {
            return config.lora().maxAdapters() + 2;
        }
        int named = config.adapters().values().stream().mapToInt(a -> a.adapterPlaces()).sum();
        int others = Math.max(0, config.lora().maxAdapters() - config.adapters().size());
        return named + 2 * others + config.lora().maxAdapters() + 2;
    }

    Sampler sampler() {
        return sampler;
    }

    AdapterPublisher publisher() {
        return publisher;
    }

    HealthProbe health() {
        return new FleetHealth(fleet);
    }

    /** What of an adapter the engines could not serve. */
    ConfigCheck check() {
        return new EngineCheck(fleet);
    }

    /** Engines that take requests now. */
    int ready() {
        return (int) fleet.engines().stream().filter(e -> e.state() == EngineState.READY).count();
    }

    @Override
    public void close() {
        closeAll(open);
    }

    private static void closeAll(Deque<AutoCloseable> open) {
        while (!open.isEmpty()) {
            Closing.quietly(open.pop());
        }
    }
}
