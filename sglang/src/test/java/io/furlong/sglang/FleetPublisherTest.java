package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.core.PublishException;
import io.furlong.core.PublishException.Blame;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplerException;
import io.furlong.sglang.testing.AdapterFiles;
import io.furlong.sglang.testing.Fault;
import io.furlong.sglang.testing.HashModel;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FleetPublisherTest {
    @TempDir
    Path root;

    @Test
    void aVersionIsOnEveryReadyEngineWhenPublishReturns() throws Exception {
        try (Rig rig = new Rig(root, 3, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            assertThat(rig.engines).allSatisfy(e -> assertThat(e.loaded()).contains(v2.stamp().servedName()));
            assertThat(rig.fleet.counters().snapshot().canaryApplied()).isEqualTo(3);
            assertThat(rig.fleet.counters().snapshot().canaryInconclusive()).isEqualTo(3);
        }
    }

    @Test
    void aWrongShapeReachesNoEngine() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact bad = rig.version("a", 1, 0);
            AdapterFiles.write(bad.directory(), TestArtifact.RANK + 1, 0, "x");
            assertThatThrownBy(() -> rig.publisher.publish(bad)).isInstanceOfSatisfying(PublishException.class, e -> assertThat(e.blame()).isEqualTo(Blame.ADAPTER))
                    .hasMessageContaining("adapter_config.json").hasMessageContaining("rank 4");
            assertThat(rig.engines.getFirst().calls()).doesNotContain("POST /load_lora_adapter");
        }
    }

    @Test
    void aTruncatedWeightsFileReachesNoEngine() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact bad = rig.version("a", 1, 0);
            Path weights = bad.directory().resolve("adapter_model.safetensors");
            byte[] bytes = Files.readAllBytes(weights);
            Files.write(weights, java.util.Arrays.copyOf(bytes, bytes.length - 4));
            assertThatThrownBy(() -> rig.publisher.publish(bad)).isInstanceOf(PublishException.class).hasMessageContaining("header says");
            assertThat(rig.engines.getFirst().calls()).doesNotContain("POST /load_lora_adapter");
        }
    }

    @Test
    void alreadyLoadedCountsOnlyIfTheSameDirectoryIsBehindTheName() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v1 = rig.version("a", 1, 0);
            rig.engines.getFirst().preload(v1);
            rig.publisher.publish(v1);
            assertThat(rig.view(0).tainted()).as("an earlier process loaded it, so its count is not known").isEqualTo(1);

            TestArtifact v2 = rig.version("a", 2, 0.3);
            Path elsewhere = root.resolve("elsewhere");
            AdapterFiles.write(elsewhere, TestArtifact.RANK, 0.3, "other");
            rig.engines.getFirst().preload(new TestArtifact("a", v2.stamp(), elsewhere, v2.delta(), TestArtifact.RANK));
            assertThatThrownBy(() -> rig.publisher.publish(v2)).isInstanceOfSatisfying(PublishException.class, e -> assertThat(e.blame()).isEqualTo(Blame.ENGINES));
        }
    }

    @Test
    void anEngineThatHangsLeavesTheSetAndTheVersionComesIntoForceOnTheOthers() throws Exception {
        FleetConfig config = Rig.CONFIG.withDeadlines(Duration.ofSeconds(5), Duration.ofMillis(200), Duration.ofSeconds(5));
        CountDownLatch never = new CountDownLatch(1);
        try (Rig rig = new Rig(root, 3, Quirks.RELEASED, config, Rig.LIMITS)) {
            rig.publisher.publish(rig.version("a", 1, 0));
            TestArtifact v2 = rig.version("a", 2, 0.3);
            rig.engines.get(1).next("/load_lora_adapter", new Fault.Hang(never));
            rig.publisher.publish(v2);
            assertThat(rig.view(1).state()).isEqualTo(EngineState.SUSPECT);
            for (int i = 0; i < 12; i++) {
                int n = i;
                SampleResult result = rig.sampler.sample(rig.request("a", v2.stamp(), "g" + n, () -> true));
                assertThat(result.engine()).isNotEqualTo(rig.engines.get(1).url().toString());
            }
            rig.pass(Duration.ofSeconds(2));
            rig.fleet.look();
            rig.awaitState(1, EngineState.READY);
            assertThat(rig.engines.get(1).loaded()).contains(v2.stamp().servedName());
        } finally {
            never.countDown();
        }
    }

    @Test
    void aFailedPublishLeavesTheOldVersionInForce() throws Exception {
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            TestArtifact v3 = rig.version("a", 3, 0.3);
            rig.engines.forEach(e -> e.unreadable(true));
            assertThatThrownBy(() -> rig.publisher.publish(v3)).isInstanceOfSatisfying(PublishException.class, e -> assertThat(e.blame()).isEqualTo(Blame.ENGINES));
            rig.engines.forEach(e -> e.unreadable(false));
            rig.pass(Duration.ofSeconds(2));
            rig.fleet.look();
            rig.awaitStates(2, EngineState.READY);
            rig.sampler.sample(rig.request("a", v2.stamp()));
            assertThat(rig.engines).allSatisfy(e -> assertThat(e.loaded()).doesNotContain(v3.stamp().servedName()));
        }
    }

    @Test
    void anAdapterGoneBadFailsAndCostsNoEngine() throws Exception {
        try (Rig rig = new Rig(root, 3, Quirks.RELEASED)) {
            TestArtifact good = rig.publishTwo("good");
            TestArtifact nan = TestArtifact.make(root, "nan", io.furlong.core.RegistrationId.random(), 1, Double.NaN);
            assertThatThrownBy(() -> rig.publisher.publish(nan)).isInstanceOfSatisfying(PublishException.class, e -> assertThat(e.blame()).isEqualTo(Blame.ADAPTER));
            assertThat(rig.fleet.engines()).allSatisfy(e -> assertThat(e.state()).isEqualTo(EngineState.READY));
            assertThat(rig.engines.get(2).loaded()).as("a first version goes to few engines until one passes").doesNotContain(nan.stamp().servedName());
            rig.sampler.sample(rig.request("good", good.stamp()));
        }
    }

    @Test
    void anAdapterUnderWhichEnginesGoDownOneAfterTheOtherFailsBeforeItHasThemAll() throws Exception {
        try (Rig rig = new Rig(root, 5, Quirks.RELEASED)) {
            TestArtifact poison = rig.version("a", 1, 0);
            rig.engines.forEach(e -> e.always(r -> {
                if (r.path().equals("/generate")) {
                    e.kill();
                    return new Fault.Drop();
                }
                return new Fault.None();
            }));
            assertThatThrownBy(() -> rig.publisher.publish(poison)).isInstanceOfSatisfying(PublishException.class, e -> assertThat(e.blame()).isEqualTo(Blame.ENGINES));
            assertThatThrownBy(() -> rig.publisher.publish(poison)).isInstanceOfSatisfying(PublishException.class, e -> assertThat(e.blame()).isEqualTo(Blame.ADAPTER));
            assertThat(rig.fleet.engines()).filteredOn(e -> e.state() == EngineState.READY).hasSize(1);
        }
    }

    @Test
    void anEngineThatIgnoresAdaptersLeavesWhenOthersApplyThem() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            SglangDouble deaf = new SglangDouble(Quirks.RELEASED.ignoringLora());
            rig.engines.add(deaf);
            rig.fleet.look();
            rig.awaitStates(2, EngineState.READY);
            TestArtifact v2 = rig.publishTwo("a");
            assertThat(rig.view(1).state()).isEqualTo(EngineState.OUT);
            assertThat(rig.view(1).reason()).contains("nearer to those without the adapter");
            rig.sampler.sample(rig.request("a", v2.stamp()));
        }
    }

    @Test
    void anEngineThatDropsAdaptersInDecodingIsSeen() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED.droppingLoraInDecode())) {
            assertThatThrownBy(() -> rig.publishTwo("a")).isInstanceOf(PublishException.class).hasMessageContaining("decoding and prefill disagree");
            assertThat(rig.view(0).state()).as("it is the last").isEqualTo(EngineState.READY);
        }
    }

    @Test
    void anEffectBelowTheEnginesNoiseIsAcceptedAndCounted() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED.withNoise(0.02))) {
            rig.publisher.publish(rig.version("a", 1, 0));
            rig.publisher.publish(rig.version("a", 2, 0.001));
            assertThat(rig.fleet.counters().snapshot().canaryInconclusive()).isEqualTo(2);
            rig.publisher.publish(rig.version("a", 3, 0.5));
            assertThat(rig.fleet.counters().snapshot().canaryApplied()).isEqualTo(1);
        }
    }

    @Test
    void onTheEmbeddedEngineTheSmallestDifferenceIsConclusive() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.EMBEDDED.withNoise(0.001))) {
            assertThatThrownBy(() -> rig.publisher.publish(rig.version("a", 1, 0))).isInstanceOf(PublishException.class).hasMessageContaining("at most 1.0E-4");
        }
    }

    @Test
    void aReleasedVersionIsUnloadedAndATaintedOneNeverIs() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            SglangDouble engine = rig.engines.getFirst();
            TestArtifact v2 = rig.publishTwo("a");
            TestArtifact v3 = rig.version("a", 3, 0.3);
            rig.publisher.publish(v3);

            engine.holdWaiting(true);
            CompletableFuture<SampleResult> waiting = rig.apart(() -> rig.sampler.sample(rig.request("a", v3.stamp())));
            engine.awaitPending(1);
            rig.sampler.abort(rig.registration);
            engine.holdWaiting(false);
            assertThat(waiting).failsWithin(Duration.ofSeconds(20));
            assertThat(engine.counter(v3.stamp().servedName())).as("the double leaks, as SGLang does").isEqualTo(1);

            rig.publisher.release(v2.stamp());
            rig.awaitThat(() -> rig.fleet.counters().snapshot().unloads() == 1, () -> rig.view(0).toString());
            assertThat(engine.loaded()).doesNotContain(v2.stamp().servedName());
            rig.publisher.release(v3.stamp());
            assertThat(rig.view(0).leaked()).isEqualTo(1);
            assertThat(engine.loaded()).contains(v3.stamp().servedName());

            TestArtifact next = TestArtifact.make(root, "b", io.furlong.core.RegistrationId.random(), 1, 0);
            rig.publisher.publish(next);
            assertThat(engine.loaded()).contains(next.stamp().servedName());
        }
    }

    @Test
    void thirtyPublishesWithAnAbortInTheQueueEachAllComplete() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            SglangDouble engine = rig.engines.getFirst();
            for (int i = 0; i < 30; i++) {
                io.furlong.core.RegistrationId registration = io.furlong.core.RegistrationId.random();
                TestArtifact one = TestArtifact.make(root, "a" + i, registration, 1, 0);
                rig.publisher.publish(one);
                engine.holdWaiting(true);
                CompletableFuture<SampleResult> waiting = rig.apart(() -> rig.sampler.sample(rig.request("a", one.stamp())));
                engine.awaitPending(1);
                rig.sampler.abort(registration);
                engine.holdWaiting(false);
                assertThat(waiting).failsWithin(Duration.ofSeconds(20));
                rig.publisher.release(one.stamp());
            }
            assertThat(rig.view(0).leaked()).isEqualTo(30);
            assertThat(rig.view(0).state()).isEqualTo(EngineState.READY);
        }
    }

    @Test
    void tooManyLeakedAdaptersTakeAnEngineOutUntilItIsRestarted() throws Exception {
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED, Rig.CONFIG.withMaxLeakedLoras(0), Rig.LIMITS)) {
            TestArtifact v2 = rig.publishTwo("a");
            rig.engines.forEach(e -> e.next("/generate", new Fault.Status(503, "busy")));
            rig.sampler.sample(rig.request("a", v2.stamp()));
            rig.publisher.release(v2.stamp());
            int out = rig.view(0).state() == EngineState.OUT ? 0 : 1;
            assertThat(rig.view(out).state()).isEqualTo(EngineState.OUT);
            assertThat(rig.view(out).reason()).contains("restart this engine");
            rig.engines.get(out).restart();
            rig.pass(Duration.ofSeconds(60));
            rig.fleet.look();
            rig.awaitState(out, EngineState.READY);
            assertThat(rig.view(out).leaked()).isZero();
        }
    }

    @Test
    void anEngineThatIsNotListedForAWhileKeepsItsBooks() throws Exception {
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            SglangDouble away = rig.engines.remove(1);
            rig.fleet.look();
            assertThat(rig.fleet.engines()).hasSize(1);
            rig.engines.add(away);
            rig.fleet.look();
            rig.awaitState(1, EngineState.READY);
            assertThat(rig.view(1).tainted()).as("nothing that this process loaded is taken for somebody else's").isZero();
            rig.publisher.release(v2.stamp());
            rig.awaitThat(() -> rig.fleet.counters().snapshot().unloads() == 2, () -> rig.fleet.engines().toString());
        }
    }

    @Test
    void anEngineThatIsSetAsideWhileItCatchesUpIsGivenNothingMoreUntilItsPauseIsOver() throws Exception {
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED)) {
            for (String adapter : List.of("a", "b", "c")) {
                rig.publisher.publish(rig.version(adapter, 1, 0));
            }
            Engine late = rig.fleet.roster().engines().get(1);
            rig.fleet.setAside(late, "by the test");
            SglangDouble server = rig.engines.get(1);
            server.restart();
            rig.pass(Duration.ofSeconds(2));
            AtomicInteger loads = new AtomicInteger();
            server.always(r -> {
                if (r.path().equals("/load_lora_adapter") && loads.incrementAndGet() == 1) {
                    rig.apart(() -> {
                        rig.fleet.setAside(late, "a publish failed on it");
                        return true;
                    }).join();
                }
                return new Fault.None();
            });
            rig.fleet.tend(late);
            assertThat(loads).as("adapters that it was given").hasValue(1);
            assertThat(rig.view(1).state()).isEqualTo(EngineState.SUSPECT);
            rig.fleet.setAside(late, "another publish failed on it");
            assertThat(rig.view(1).reason()).isEqualTo("a publish failed on it");

            rig.pass(Duration.ofSeconds(2));
            rig.fleet.look();
            rig.awaitState(1, EngineState.READY);
            assertThat(server.loaded()).hasSize(3);
        }
    }

    @Test
    void anEngineThatHangsHoldsUpNoPublishAndIsReadyOnceItHoldsTheVersionAfterAll() throws Exception {
        try (Rig rig = new Rig(root, 3, Quirks.RELEASED)) {
            rig.publisher.publish(rig.version("a", 1, 0));
            SglangDouble slow = rig.engines.get(2);
            CountDownLatch gate = new CountDownLatch(1);
            slow.next("/load_lora_adapter", new Fault.Hang(gate));
            TestArtifact v2 = rig.version("a", 2, 0.3);
            rig.publisher.publish(v2);
            assertThat(gate.getCount()).as("it still hangs").isEqualTo(1);
            assertThat(rig.view(2).state()).isEqualTo(EngineState.JOINING);
            assertThat(rig.view(0).state()).isEqualTo(EngineState.READY);
            gate.countDown();
            rig.awaitState(2, EngineState.READY);
            assertThat(slow.loaded()).contains(v2.stamp().servedName());
            assertThat(slow.calls().stream().filter(c -> c.equals("POST /load_lora_adapter"))).as("loads of two versions").hasSize(2);
        }
    }

    @Test
    void anUnloadThatHangsTakesTheEngineOut() throws Exception {
        FleetConfig config = Rig.CONFIG.withDeadlines(Duration.ofSeconds(5), Duration.ofSeconds(5), Duration.ofMillis(200));
        CountDownLatch never = new CountDownLatch(1);
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED, config, Rig.LIMITS)) {
            TestArtifact v2 = rig.publishTwo("a");
            rig.engines.getFirst().next("/unload_lora_adapter", new Fault.Hang(never));
            rig.publisher.release(v2.stamp());
            rig.awaitState(0, EngineState.OUT);
            assertThat(rig.view(0).reason()).contains("hangs");
            assertThat(rig.view(1).state()).isEqualTo(EngineState.READY);
        } finally {
            never.countDown();
        }
    }

    @Test
    void inSlotModeTheNameStaysAndTheWeightsChange() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.EMBEDDED, Rig.CONFIG.withPublish(FleetConfig.Publish.SLOT), Rig.LIMITS)) {
            TestArtifact v1 = rig.version("a", 1, 0).inSlot(3);
            TestArtifact v2 = rig.version("a", 2, 0.3).inSlot(3);
            rig.publisher.publish(v1);
            rig.publisher.publish(v2);
            rig.publisher.release(v1.stamp());
            rig.sampler.sample(rig.request("a", v2.stamp()));
            assertThat(rig.engines.getFirst().loaded()).containsExactly("furlong_slot_3");
            assertThat(rig.engines.getFirst().served().getLast().digest()).isEqualTo(v2.stamp().digest());
        }
    }

    @Test
    void slotModeIsRefusedWhereTheServerDoesNotAnnounceIt() {
        try (Http http = Http.open(); SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            assertThatThrownBy(() -> Fleet.direct(http, java.util.List.of(engine.url()), FleetConfig.DIRECT.withPublish(FleetConfig.Publish.SLOT), Duration.ofSeconds(30)))
                    .isInstanceOf(FleetException.class).hasMessageContaining("in-place upsert").hasMessageContaining("publish: versioned");
        }
    }

    @Test
    void placesAreThoseOfTheSmallestEngineTheBaseModelNotCounted() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED.withPlaces(5))) {
            assertThat(rig.publisher.adapterPlaces()).isEqualTo(4);
        }
    }

    @Test
    void aLateEngineHoldsEverythingInForceBeforeItsFirstRequest() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            SglangDouble late = new SglangDouble(Quirks.RELEASED);
            rig.engines.add(late);
            rig.fleet.roster().membership(rig.urls(), url -> new SglangClient(rig.http, url));
            for (int i = 0; i < 20; i++) {
                try {
                    rig.sampler.sample(rig.request("a", v2.stamp(), "g" + i, () -> true));
                } catch (SamplerException e) {
                    throw new AssertionError(e);
                }
                if (i == 5) {
                    rig.fleet.roster().dueForTending().forEach(e -> rig.apart(() -> {
                        rig.fleet.tend(e);
                        return true;
                    }));
                }
            }
            rig.awaitState(1, EngineState.READY);
            assertThat(late.served()).allSatisfy(s -> assertThat(s.digest()).isNotEqualTo(HashModel.Delta.NONE.digest()));
            assertThat(late.loaded()).contains(v2.stamp().servedName());
        }
    }
}
