package io.furlong.sglang;

import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.testing.AdapterFiles;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/** A fleet of doubles with a sampler and a publisher, its clock in the test's hand and no watcher of its own: tests call {@code look}. */
final class Rig implements AutoCloseable {
    static final ModelShape SHAPE = AdapterFiles.SHAPE;
    static final FleetConfig CONFIG = FleetConfig.DIRECT.withPauses(Duration.ofSeconds(1), Duration.ofSeconds(8), Duration.ofDays(1))
            .withDeadlines(Duration.ofSeconds(5), Duration.ofSeconds(5), Duration.ofSeconds(5));
    static final SamplerLimits LIMITS = new SamplerLimits(Duration.ofSeconds(20), 6, Duration.ofMillis(1), Duration.ofMillis(4), Duration.ofSeconds(5));

    final Path root;
    final Http http = Http.open();
    final List<SglangDouble> engines = new ArrayList<>();
    final AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    final InstantSource time = now::get;
    final RegistrationId registration = RegistrationId.random();
    Fleet fleet;
    FleetPublisher publisher;
    SglangSampler sampler;

    Rig(Path root, int engines, Quirks quirks) throws InterruptedException {
        this(root, engines, quirks, CONFIG, LIMITS);
    }

    Rig(Path root, int n, Quirks quirks, FleetConfig config, SamplerLimits limits) throws InterruptedException {
        this.root = root;
        for (int i = 0; i < n; i++) {
            engines.add(new SglangDouble(quirks));
        }
        fleet = new Fleet(config, http, deadline -> urls(), Optional.empty(), time);
        publisher = new FleetPublisher(fleet, SHAPE);
        sampler = new SglangSampler(fleet, limits);
        fleet.look();
        awaitStates(n, EngineState.READY);
    }

    List<URI> urls() {
        return engines.stream().map(SglangDouble::url).toList();
    }

    TestArtifact version(String adapter, long version, double effect) {
        return TestArtifact.make(root, adapter, registration, version, effect);
    }

    /** Publishes a first version without effect, then one with. @return the second */
    TestArtifact publishTwo(String adapter) throws Exception {
        publisher.publish(version(adapter, 1, 0));
        TestArtifact second = version(adapter, 2, 0.3);
        publisher.publish(second);
        return second;
    }

    SampleRequest request(String adapter, PolicyStamp stamp) {
        return request(adapter, stamp, "group", () -> true);
    }

    SampleRequest request(String adapter, PolicyStamp stamp, String group, BooleanSupplier wanted) {
        return new SampleRequest(adapter, stamp, new int[] {5, 6, 7}, SamplingConfig.at(1, 8), 42, group, Duration.ofSeconds(20), wanted);
    }

    /** Runs on a thread of its own. */
    <T> CompletableFuture<T> apart(java.util.concurrent.Callable<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    EngineView view(int engine) {
        return fleet.engines().stream().filter(v -> v.url().equals(engines.get(engine).url())).findFirst().orElseThrow();
    }

    void awaitState(int engine, EngineState state) throws InterruptedException {
        awaitThat(() -> view(engine).state() == state, () -> view(engine).toString());
    }

    void awaitStates(int n, EngineState state) throws InterruptedException {
        awaitThat(() -> fleet.engines().stream().filter(v -> v.state() == state).count() == n, () -> fleet.engines().toString());
    }

    void awaitThat(BooleanSupplier condition, java.util.function.Supplier<String> otherwise) throws InterruptedException {
        if (!fleet.roster().await(condition, Duration.ofSeconds(20))) {
            throw new AssertionError("did not come about: " + otherwise.get());
        }
    }

    void pass(Duration time) {
        now.updateAndGet(t -> t.plus(time));
    }

    @Override
    public void close() {
        fleet.close();
        engines.forEach(SglangDouble::close);
        http.close();
    }
}
