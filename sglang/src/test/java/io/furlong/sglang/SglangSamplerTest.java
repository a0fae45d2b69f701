package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplerException.Kind;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.testing.Fault;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SglangSamplerTest {
    @TempDir
    Path root;

    @Test
    void everyRequestNamesAdapterVersionAndCacheNamespace() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("gsm8k");
            SampleResult result = rig.sampler.sample(rig.request("gsm8k", v2.stamp()));

            JsonNode body = rig.engines.getFirst().generates().getLast();
            assertThat(body.path("lora_path").asText()).isEqualTo(v2.stamp().servedName());
            assertThat(body.path("extra_key").asText()).isEqualTo("gsm8k." + rig.registration.hex() + ":v2");
            assertThat(body.path("rid").asText()).matches("gsm8k::[0-9a-f]{32}");
            assertThat(body.path("sampling_params").path("sampling_seed").asLong()).isEqualTo(42);
            assertThat(body.path("sampling_params").path("n").asInt(1)).isEqualTo(1);
            assertThat(body.path("return_logprob").asBoolean()).isTrue();
            assertThat(result.logProbs()).hasSameSizeAs(result.tokenIds());
            assertThat(rig.engines.getFirst().served().getLast().digest()).isEqualTo(v2.stamp().digest());
            assertThat(rig.engines.getFirst().generates()).allSatisfy(g -> assertThat(g.path("lora_path").asText()).isNotEmpty());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {408, 429, 500, 502, 503, 504})
    void passingFaultsAreTriedAgainUnderAFreshIdAfterTheOldOneWasAborted(int status) throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            SglangDouble engine = rig.engines.getFirst();
            engine.next("/generate", new Fault.Status(status, "{\"error\":{\"message\":\"later\"}}"));
            int before = engine.calls().size();
            rig.sampler.sample(rig.request("a", v2.stamp()));
            assertThat(engine.calls().subList(before, engine.calls().size())).containsExactly("POST /generate", "POST /abort_request", "POST /generate");
        }
    }

    @Test
    void noRequestIdIsUsedTwice() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            SglangDouble engine = rig.engines.getFirst();
            engine.next("/generate", new Fault.DropMidway(), new Fault.DropMidway());
            rig.sampler.sample(rig.request("a", v2.stamp()));
            List<String> rids = engine.generates().stream().map(g -> g.path("rid").asText()).toList();
            assertThat(new HashSet<>(rids)).hasSameSizeAs(rids);
            assertThat(rids).hasSizeGreaterThanOrEqualTo(3);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 401, 403, 404, 409, 422})
    void refusalsAreFinal(int status) throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            SglangDouble engine = rig.engines.getFirst();
            engine.next("/generate", new Fault.Status(status, "{\"error\":{\"message\":\"no\"}}"));
            int before = engine.calls().size();
            assertThatThrownBy(() -> rig.sampler.sample(rig.request("a", v2.stamp()))).isInstanceOfSatisfying(SamplerException.class, e -> assertThat(e.kind()).isEqualTo(Kind.REJECTED));
            assertThat(engine.calls()).hasSize(before + 1);
        }
    }

    @Test
    void whatTheEngineWouldRefuseIsNeverSent() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            int before = rig.engines.getFirst().calls().size();
            SampleRequest tooLong = new SampleRequest("a", v2.stamp(), new int[4090], SamplingConfig.at(1, 8), 1, "g", Duration.ofSeconds(5), () -> true);
            SampleRequest empty = new SampleRequest("a", v2.stamp(), new int[0], SamplingConfig.at(1, 8), 1, "g", Duration.ofSeconds(5), () -> true);
            assertThatThrownBy(() -> rig.sampler.sample(tooLong)).isInstanceOf(SamplerException.class).hasMessageContaining("4096");
            assertThatThrownBy(() -> rig.sampler.sample(empty)).isInstanceOf(SamplerException.class).hasMessageContaining("no tokens");
            assertThat(rig.engines.getFirst().calls()).hasSize(before);
            assertThat(rig.view(0).tainted()).isZero();
        }
    }

    @Test
    void anAdapterTheEngineForgotIsBroughtBackOnceAndTheRequestGoesThrough() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            rig.engines.getFirst().restart();
            SampleResult result = rig.sampler.sample(rig.request("a", v2.stamp()));
            assertThat(result.tokenIds()).isNotEmpty();
            assertThat(rig.engines.getFirst().served().getLast().digest()).isEqualTo(v2.stamp().digest());
        }
    }

    @Test
    void nothingIsSentOnceItIsNotWanted() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            SglangDouble engine = rig.engines.getFirst();
            AtomicBoolean wanted = new AtomicBoolean(true);
            engine.always(r -> {
                if (r.path().equals("/generate")) {
                    wanted.set(false);
                    return new Fault.Status(503, "busy");
                }
                return new Fault.None();
            });
            int before = engine.generates().size();
            assertThatThrownBy(() -> rig.sampler.sample(rig.request("a", v2.stamp(), "g", wanted::get)))
                    .isInstanceOfSatisfying(SamplerException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNWANTED));
            assertThat(engine.calls().stream().filter(c -> c.endsWith("/generate")).count()).isEqualTo(before + 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"output_token_logprobs\"|\"nothing\"", "\\[-[0-9.]+,|[null,", "\"output_ids\":\\[|\"output_ids\":[7,", "\\],\"output_token_logprobs_length|,[-1.0,3,null]],\"output_token_logprobs_length"})
    void missingNullOrMiscountedLogProbsAreNeverAResult(String change) throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            TestArtifact v2 = rig.publishTwo("a");
            String[] parts = change.split("\\|");
            rig.engines.getFirst().next("/generate", new Fault.Alter(body -> body.replaceFirst(parts[0], parts[1])));
            assertThatThrownBy(() -> rig.sampler.sample(rig.request("a", v2.stamp()))).isInstanceOfSatisfying(SamplerException.class, e -> assertThat(e.kind()).isEqualTo(Kind.MALFORMED));
        }
    }

    @Test
    void abortReachesExactlyTheRegistrationsRequestsOnEveryEngine() throws Exception {
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED)) {
            TestArtifact a = rig.publishTwo("a");
            io.furlong.core.RegistrationId other = io.furlong.core.RegistrationId.random();
            TestArtifact b = TestArtifact.make(root, "a2", other, 1, 0);
            rig.publisher.publish(b);
            rig.engines.forEach(e -> e.holdRunning(true));
            CompletableFuture<SampleResult> ours1 = rig.apart(() -> rig.sampler.sample(rig.request("a", a.stamp(), "g1", () -> true)));
            rig.engines.get(0).awaitPending(1);
            CompletableFuture<SampleResult> ours2 = rig.apart(() -> rig.sampler.sample(rig.request("a", a.stamp(), "g2", () -> true)));
            rig.engines.get(1).awaitPending(1);
            CompletableFuture<SampleResult> theirs = rig.apart(() -> rig.sampler.sample(rig.request("a2", b.stamp(), "g1", () -> true)));
            rig.engines.get(0).awaitPending(2);

            rig.sampler.abort(rig.registration);
            assertThat(failure(ours1)).isEqualTo(Kind.ABORTED);
            assertThat(failure(ours2)).isEqualTo(Kind.ABORTED);
            assertThat(theirs).isNotDone();
            rig.engines.forEach(e -> e.holdRunning(false));
            assertThat(theirs.get().tokenIds()).isNotEmpty();
            assertThatThrownBy(() -> rig.sampler.sample(rig.request("a", a.stamp()))).isInstanceOfSatisfying(SamplerException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNWANTED));
        }
    }

    @Test
    void aCallThatNeverReturnsFromAnAbortIsWrittenOffAtItsDeadline() throws Exception {
        SamplerLimits limits = Rig.LIMITS.withDeadlines(Duration.ofSeconds(20), Duration.ofMillis(100));
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED, Rig.CONFIG, limits)) {
            TestArtifact a = rig.publishTwo("a");
            SglangDouble engine = rig.engines.getFirst();
            engine.pause(true);
            int before = engine.generates().size();
            CompletableFuture<SampleResult> held = rig.apart(() -> rig.sampler.sample(rig.request("a", a.stamp())));
            engine.awaitGenerates(before + 1);
            rig.sampler.abort(rig.registration);
            assertThat(failure(held)).isEqualTo(Kind.ABORTED);
            assertThat(rig.fleet.counters().snapshot().writtenOff()).isEqualTo(1);
            assertThat(rig.view(0).tainted()).isEqualTo(1);
        }
    }

    @Test
    void samplesOfOneGroupGoToOneEngineAndGroupsAreSpread() throws Exception {
        try (Rig rig = new Rig(root, 3, Quirks.RELEASED)) {
            TestArtifact a = rig.publishTwo("a");
            rig.engines.forEach(e -> e.holdRunning(true));
            for (int g = 0; g < 3; g++) {
                for (int i = 0; i < 4; i++) {
                    String group = "g" + g;
                    rig.apart(() -> rig.sampler.sample(rig.request("a", a.stamp(), group, () -> true)));
                }
                rig.engines.get(g).awaitPending(4);
            }
            assertThat(rig.fleet.engines()).allSatisfy(e -> assertThat(e.inFlight()).isEqualTo(4));
            rig.engines.forEach(e -> e.holdRunning(false));
        }
    }

    private static Kind failure(CompletableFuture<SampleResult> future) throws InterruptedException {
        try {
            future.get();
            throw new AssertionError("was answered");
        } catch (ExecutionException e) {
            return ((SamplerException) e.getCause()).kind();
        }
    }
}
