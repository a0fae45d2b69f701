package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.testing.Fault;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.RouterDouble;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RouterRoutingTest {
    @TempDir
    Path root;

    private final Http http = Http.open();
    private final List<SglangDouble> engines = List.of(new SglangDouble(Quirks.RELEASED), new SglangDouble(Quirks.RELEASED), new SglangDouble(Quirks.RELEASED));
    private final RegistrationId registration = RegistrationId.random();

    @AfterEach
    void close() {
        engines.forEach(SglangDouble::close);
        http.close();
    }

    private List<URI> urls() {
        return engines.stream().map(SglangDouble::url).toList();
    }

    private SampleRequest request(TestArtifact version) {
        return new SampleRequest("a", version.stamp(), new int[] {5, 6, 7}, SamplingConfig.at(1, 8), 42, "g", Duration.ofSeconds(20), () -> true);
    }

    private TestArtifact publishTwo(Fleet fleet) throws Exception {
        FleetPublisher publisher = new FleetPublisher(fleet, Rig.SHAPE);
        publisher.publish(TestArtifact.make(root, "a", registration, 1, 0));
        TestArtifact second = TestArtifact.make(root, "a", registration, 2, 0.3);
        publisher.publish(second);
        return second;
    }

    @ParameterizedTest
    @EnumSource(RouterDouble.Kind.class)
    void workersAreFoundByAskingTheRouterEachServerOnce(RouterDouble.Kind kind) throws Exception {
        try (RouterDouble router = new RouterDouble(kind, urls())) {
            router.addRank(urls().getFirst(), 1);
            try (Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.ROUTER, Rig.CONFIG, Duration.ofSeconds(20))) {
                assertThat(fleet.engines()).extracting(EngineView::url).containsExactlyInAnyOrderElementsOf(urls());
            }
        }
    }

    @Test
    void aSingleServerIsAFleetOfOne() throws Exception {
        try (Fleet fleet = Fleet.at(http, urls().getFirst(), Fleet.Routing.ROUTER, Rig.CONFIG, Duration.ofSeconds(20))) {
            TestArtifact v2 = publishTwo(fleet);
            SampleResult result = new SglangSampler(fleet, Rig.LIMITS).sample(request(v2));
            assertThat(result.engine()).isEqualTo(urls().getFirst().toString());
        }
    }

    @Test
    void adaptersGoToEveryWorkerStraightAndGenerationThroughTheRouter() throws Exception {
        try (RouterDouble router = new RouterDouble(RouterDouble.Kind.GATEWAY, urls());
                Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.ROUTER, Rig.CONFIG, Duration.ofSeconds(20))) {
            awaitReady(fleet, 3);
            TestArtifact v2 = publishTwo(fleet);
            assertThat(engines).allSatisfy(e -> assertThat(e.loaded()).contains(v2.stamp().servedName()));
            SampleResult result = new SglangSampler(fleet, Rig.LIMITS).sample(request(v2));
            assertThat(result.engine()).isEqualTo(router.url().toString());
            assertThat(router.calls()).contains("POST /generate").noneMatch(c -> c.contains("lora"));
        }
    }

    @Test
    void oneReconcileIsSharedByAllWhoMeetAWorkerWithoutTheAdapter() throws Exception {
        try (RouterDouble router = new RouterDouble(RouterDouble.Kind.GATEWAY, urls());
                Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.ROUTER, Rig.CONFIG, Duration.ofSeconds(20));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            awaitReady(fleet, 3);
            TestArtifact v2 = publishTwo(fleet);
            SglangSampler sampler = new SglangSampler(fleet, Rig.LIMITS);
            engines.forEach(SglangDouble::restart);
            CountDownLatch gate = new CountDownLatch(1);
            CountDownLatch arrived = new CountDownLatch(30);
            engines.forEach(e -> {
                e.next("/v1/models", new Fault.Hang(gate));
                e.always(r -> {
                    if (r.path().equals("/generate")) {
                        arrived.countDown();
                    }
                    return new Fault.None();
                });
            });
            List<Callable<SampleResult>> work = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                work.add(() -> sampler.sample(request(v2)));
            }
            List<Future<SampleResult>> all = work.stream().map(threads::submit).toList();
            assertThat(arrived.await(20, TimeUnit.SECONDS)).as("all have met a worker without it").isTrue();
            gate.countDown();
            for (Future<SampleResult> one : all) {
                assertThat(one.get().tokenIds()).isNotEmpty();
            }
            assertThat(fleet.counters().snapshot().reconciles()).isBetween(1L, 3L);
            assertThat(engines).allSatisfy(e -> assertThat(e.loaded()).contains(v2.stamp().servedName()));
        }
    }

    @Test
    void inAManagedRouterOutMeansRemovedAndReadyMeansAddedAfterTheLoads() throws Exception {
        FleetConfig config = Rig.CONFIG.withPauses(Duration.ZERO, Duration.ZERO, Duration.ofDays(1)).withDeadlines(Duration.ofSeconds(5), Duration.ofMillis(300), Duration.ofSeconds(5));
        CountDownLatch never = new CountDownLatch(1);
        try (RouterDouble router = new RouterDouble(RouterDouble.Kind.GATEWAY, List.of());
                Fleet fleet = Fleet.managing(http, router.url(), urls(), config, Duration.ofSeconds(20))) {
            awaitReady(fleet, 3);
            router.awaitWorkers(3);
            engines.get(1).always(r -> new Fault.Hang(never));
            TestArtifact v2 = publishTwo(fleet);
            router.awaitWorkers(2);
            assertThat(router.workers()).doesNotContain(urls().get(1));
            engines.get(1).always(r -> new Fault.None());
            never.countDown();
            fleet.look();
            awaitReady(fleet, 3);
            router.awaitWorkers(3);
            assertThat(engines.get(1).loaded()).contains(v2.stamp().servedName());
            router.restartEmpty();
            fleet.look();
            router.awaitWorkers(3);
        }
    }

    @Test
    void aRouterThatListsNobodySaysNothingAboutTheEngines() throws Exception {
        try (RouterDouble router = new RouterDouble(RouterDouble.Kind.GATEWAY, urls());
                Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.DIRECT, Rig.CONFIG, Duration.ofSeconds(20))) {
            awaitReady(fleet, 3);
            router.restartEmpty();
            fleet.look();
            assertThat(fleet.engines()).hasSize(3);
        }
    }

    private static void awaitReady(Fleet fleet, int n) throws InterruptedException {
        if (!fleet.roster().await(() -> fleet.roster().ready().size() == n, Duration.ofSeconds(20))) {
            throw new AssertionError("not ready: " + fleet.engines());
        }
    }
}
