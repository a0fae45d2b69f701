package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.RouterProcess;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against SGLang's own router; skipped by name where the machine has none. */
class RealRouterTest {
    @TempDir
    Path root;

    @BeforeEach
    void hasRouter() {
        assumeTrue(RouterProcess.command().isPresent(), "FURLONG_TEST_ROUTER does not say how to start the router of the PyPI package sglang-router");
    }

    private static SampleRequest request(TestArtifact version, int seed) {
        return new SampleRequest("a", version.stamp(), new int[] {5, 6, 7}, SamplingConfig.at(1, 8), seed, "g", Duration.ofSeconds(60), () -> true);
    }

    @Test
    void generationGoesThroughItWithEveryFieldIntact() throws Exception {
        try (Http http = Http.open();
                SglangDouble one = new SglangDouble(Quirks.RELEASED);
                SglangDouble two = new SglangDouble(Quirks.RELEASED);
                RouterProcess router = RouterProcess.start(RouterProcess.command().orElseThrow(), List.of(one.url(), two.url()), root.resolve("router.log"));
                Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.ROUTER, Rig.CONFIG, Duration.ofSeconds(60))) {
            fleet.roster().await(() -> fleet.roster().ready().size() == 2, Duration.ofSeconds(60));
            assertThat(fleet.engines()).extracting(EngineView::url).containsExactlyInAnyOrder(one.url(), two.url());
            RegistrationId registration = RegistrationId.random();
            FleetPublisher publisher = new FleetPublisher(fleet, Rig.SHAPE);
            publisher.publish(TestArtifact.make(root, "a", registration, 1, 0));
            TestArtifact v2 = TestArtifact.make(root, "a", registration, 2, 0.3);
            publisher.publish(v2);
            SglangSampler sampler = new SglangSampler(fleet, Rig.LIMITS);
            for (int i = 0; i < 20; i++) {
                SampleResult result = sampler.sample(request(v2, i));
                assertThat(result.logProbs()).hasSameSizeAs(result.tokenIds());
            }
            for (SglangDouble engine : List.of(one, two)) {
                assertThat(engine.served().stream().filter(s -> s.name().equals(v2.stamp().servedName())).skip(2)).isNotEmpty()
                        .allSatisfy(s -> assertThat(s.digest()).isEqualTo(v2.stamp().digest()));
                assertThat(engine.generates().getLast().path("extra_key").asText()).isEqualTo(v2.stamp().extraKey("a"));
                assertThat(engine.generates().getLast().path("sampling_params").path("sampling_seed").isNumber()).isTrue();
                assertThat(engine.generates().getLast().path("rid").asText()).startsWith("a::");
            }
        }
    }

    @Test
    void aWorkerThatForgotItsAdaptersIsBroughtBackAndTheRequestGoesThrough() throws Exception {
        try (Http http = Http.open();
                SglangDouble one = new SglangDouble(Quirks.RELEASED);
                RouterProcess router = RouterProcess.start(RouterProcess.command().orElseThrow(), List.of(one.url()), root.resolve("router.log"));
                Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.ROUTER, Rig.CONFIG, Duration.ofSeconds(60))) {
            RegistrationId registration = RegistrationId.random();
            TestArtifact v1 = TestArtifact.make(root, "a", registration, 1, 0);
            new FleetPublisher(fleet, Rig.SHAPE).publish(v1);
            one.restart();
            assertThat(new SglangSampler(fleet, Rig.LIMITS).sample(request(v1, 1)).tokenIds()).isNotEmpty();
            assertThat(fleet.counters().snapshot().reconciles()).isEqualTo(1);
        }
    }

    @Test
    void enginesEnterAManagedRouterWhenTheyAreReady() throws Exception {
        try (Http http = Http.open();
                SglangDouble one = new SglangDouble(Quirks.RELEASED);
                SglangDouble two = new SglangDouble(Quirks.RELEASED);
                RouterProcess router = RouterProcess.start(RouterProcess.command().orElseThrow(), List.of(), root.resolve("router.log"));
                Fleet fleet = Fleet.managing(http, router.url(), List.of(one.url(), two.url()), Rig.CONFIG, Duration.ofSeconds(60))) {
            RegistrationId registration = RegistrationId.random();
            TestArtifact v1 = TestArtifact.make(root, "a", registration, 1, 0);
            new FleetPublisher(fleet, Rig.SHAPE).publish(v1);
            SglangSampler sampler = new SglangSampler(fleet, Rig.LIMITS.withAttempts(200).withBackoff(Duration.ofMillis(200), Duration.ofMillis(400)));
            assertThat(sampler.sample(request(v1, 1)).tokenIds()).isNotEmpty();
            URI url = router.url();
            assertThat(new RouterClient(http, url).workers(Duration.ofSeconds(5)).orElseThrow().keySet()).isSubsetOf(one.url(), two.url());
        }
    }
}
