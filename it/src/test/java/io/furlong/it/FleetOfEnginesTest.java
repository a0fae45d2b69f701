package io.furlong.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplingConfig;
import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.sglang.EngineState;
import io.furlong.sglang.EngineView;
import io.furlong.sglang.Fleet;
import io.furlong.sglang.FleetConfig;
import io.furlong.sglang.FleetPublisher;
import io.furlong.sglang.Http;
import io.furlong.sglang.ModelShape;
import io.furlong.sglang.SamplerLimits;
import io.furlong.sglang.SglangClient;
import io.furlong.sglang.SglangSampler;
import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.Projection;
import io.furlong.torch.TorchArtifact;
import io.furlong.torch.TorchThread;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.SamplingParams;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The trainer's artifacts, published over HTTP to several embedded engines: what the engine computes is what the trainer computed. */
class FleetOfEnginesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path root;

    private final RegistrationId registration = RegistrationId.random();
    private final TorchThread thread = new TorchThread("trainer");
    private final Http http = Http.open();
    private EngineServer one;
    private EngineServer two;
    private BaseModel base;
    private boolean oneIsGone;

    @BeforeEach
    void start() {
        one = EngineServer.start(EngineOptions.builder(Fixtures.LLAMA).skipTokenizerInit(true).build());
        two = EngineServer.start(EngineOptions.builder(Fixtures.LLAMA).skipTokenizerInit(true).build());
        base = thread.call(() -> BaseModel.load(Fixtures.LLAMA));
    }

    @AfterEach
    void stop() {
        if (!oneIsGone) {
            one.close();
        }
        two.close();
        thread.run(base::close);
        thread.close();
        http.close();
    }

    private static URI url(EngineServer server) {
        return URI.create("http://127.0.0.1:" + server.port());
    }

    private LoraWeights withoutEffect() {
        return LoraWeights.init(base.config(), new LoraSpec(4, 8, LoraSpec.Scaling.STANDARD, EnumSet.allOf(Projection.class)), 1);
    }

    private TorchArtifact artifact(long version, int slot) {
        return thread.call(() -> {
            try (LoraWeights made = version == 1 ? withoutEffect() : PeftDirectory.read(Fixtures.LLAMA_ALL_R4, base.config()); Decoder decoder = new Decoder(base)) {
                LoraWeights frozen = made.frozenCopy();
                String name = PolicyStamp.versionedName("gsm8k", registration, version, frozen.digest());
                PolicyStamp stamp = new PolicyStamp(registration, version, version - 1, frozen.digest(), slot < 0 ? name : PolicyStamp.slotName(slot));
                return new TorchArtifact("gsm8k", stamp, frozen, decoder, TorchArtifact.Probe.of(decoder, new int[] {5, 9, 14, 3, 77, 21, 8, 40}), new TorchArtifact.Destination(thread, root.resolve(name), "llama-gqa"));
            }
        });
    }

    private static SampleRequest request(TorchArtifact version, int seed) {
        return new SampleRequest("gsm8k", version.stamp(), new int[] {5, 6, 7}, SamplingConfig.at(1, 12), seed, "g" + seed, PATIENCE, () -> true);
    }

    private Fleet fleet(FleetConfig config) throws Exception {
        return Fleet.direct(http, List.of(url(one), url(two)), config, PATIENCE);
    }

    @Test
    void eachVersionIsProvenOnEveryEngineAndServesItsOwnSamples() throws Exception {
        try (Fleet fleet = fleet(FleetConfig.DIRECT.withDeadlines(PATIENCE, PATIENCE, PATIENCE)); TorchArtifact v1 = artifact(1, -1); TorchArtifact v2 = artifact(2, -1)) {
            FleetPublisher publisher = new FleetPublisher(fleet, ModelShape.read(Fixtures.LLAMA));
            publisher.publish(v1);
            publisher.publish(v2);
            assertThat(fleet.counters().snapshot().canaryApplied()).as("two versions, on each engine that was ready").isGreaterThanOrEqualTo(2);
            assertThat(fleet.counters().snapshot().canaryInconclusive()).as("in float32 nothing is inconclusive").isZero();
            assertThat(fleet.engines()).allSatisfy(e -> assertThat(e.canaryGap().orElse(0)).isLessThan(1e-4));

            SglangSampler sampler = new SglangSampler(fleet, SamplerLimits.DEFAULT);
            for (int seed = 0; seed < 8; seed++) {
                assertThat(sampler.sample(request(v2, seed)).tokenIds()).isNotEmpty();
            }
            for (EngineView engine : fleet.engines()) {
                if (engine.state() == EngineState.READY) {
                    GenerateRequest ask = GenerateRequest.ofIds(new int[] {5, 6}, SamplingParams.builder().maxNewTokens(1).build()).withRid("gsm8k::0").withAdapter(v2.stamp().servedName());
                    assertThat(new SglangClient(http, engine.url()).generate(ask, PATIENCE).metaInfo().loraDigest()).contains(v2.stamp().digest());
                }
            }
        }
    }

    @Test
    void anEngineThatIsGoneCostsNoSample() throws Exception {
        try (Fleet fleet = fleet(FleetConfig.DIRECT.withDeadlines(PATIENCE, PATIENCE, PATIENCE)); TorchArtifact v1 = artifact(1, -1)) {
            FleetPublisher publisher = new FleetPublisher(fleet, ModelShape.read(Fixtures.LLAMA));
            publisher.publish(v1);
            one.close();
            oneIsGone = true;
            SglangSampler sampler = new SglangSampler(fleet, SamplerLimits.DEFAULT);
            for (int seed = 0; seed < 12; seed++) {
                SampleResult result = sampler.sample(request(v1, seed));
                assertThat(result.engine()).isEqualTo(url(two).toString());
            }
        }
    }

    @Test
    void inSlotModeTheNameStaysAndTheEngineSaysWhichVersionMadeTheTokens() throws Exception {
        FleetConfig config = FleetConfig.DIRECT.withPublish(FleetConfig.Publish.SLOT).withDeadlines(PATIENCE, PATIENCE, PATIENCE);
        try (Fleet fleet = fleet(config); TorchArtifact v1 = artifact(1, 3); TorchArtifact v2 = artifact(2, 3)) {
            FleetPublisher publisher = new FleetPublisher(fleet, ModelShape.read(Fixtures.LLAMA));
            publisher.publish(v1);
            publisher.publish(v2);
            publisher.release(v1.stamp());
            SampleResult result = new SglangSampler(fleet, SamplerLimits.DEFAULT).sample(request(v2, 1));
            assertThat(result.spans()).singleElement().satisfies(s -> {
                assertThat(s.fromToken()).isZero();
                assertThat(s.version()).isEqualTo(2);
            });
        }
    }
}
