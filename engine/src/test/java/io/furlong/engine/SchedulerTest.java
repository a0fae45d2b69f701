package io.furlong.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.Torch;
import io.furlong.torch.TorchThread;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.FinishReason;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.LoraVersion;
import io.furlong.wire.PauseRequest;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.SamplingParams;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What must hold of admission, adapters, memory and pauses, whatever the order of events. */
@Timeout(120)
class SchedulerTest {
    private static final SamplingParams GREEDY = SamplingParams.builder().temperature(0).maxNewTokens(12).build();
    private static final int[] PROMPT = {5, 9, 33, 71, 2, 40, 18};
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    private static EngineOptions.Builder options() {
        return EngineOptions.builder(Fixture.LLAMA).skipTokenizerInit(true).randomSeed(1);
    }

    @Test
    void moreAdaptersAndRanksThanFitAtOnceWaitAndNeverCrash() throws Exception {
        Path five = random(5, 1);
        Path eight = random(8, 2);
        List<GenerateRequest> asks = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            GenerateRequest ask = GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(3 + i % 5).build());
            asks.add(i % 3 == 0 ? ask : ask.withAdapter(i % 3 == 1 ? "five" : "eight"));
        }
        List<int[]> roomy = new ArrayList<>();
        List<int[]> tight = new ArrayList<>();
        for (int places : List.of(8, 1)) {
            try (Engine engine = Engine.start(options().maxLorasPerBatch(places).build())) {
                engine.load(LoadLoraRequest.of("five", five.toString()));
                engine.load(LoadLoraRequest.of("eight", eight.toString()));
                for (Generation generation : engine.submit(asks)) {
                    (places == 1 ? tight : roomy).add(generation.await().outputIds());
                }
                assertThat(engine.load().adaptersInBatch()).isLessThanOrEqualTo(places);
            }
        }
        for (int i = 0; i < asks.size(); i++) {
            assertThat(tight.get(i)).containsExactly(roomy.get(i));
        }
    }

    @Test
    void aRequestThatWaitsForAnAdapterPlaceIsNotOvertakenForEver() throws Exception {
        try (Engine engine = Engine.start(options().maxLorasPerBatch(1).maxRunningRequests(4).build())) {
            engine.load(LoadLoraRequest.of("busy", Fixture.LLAMA_R4.toString()));
            engine.load(LoadLoraRequest.of("patient", Fixture.LLAMA_R2.toString()));
            SamplingParams steps = GREEDY.toBuilder().maxNewTokens(40).build();
            List<GenerateRequest> first = List.of(GenerateRequest.ofIds(PROMPT, steps).withAdapter("busy"));
            engine.pause(PauseRequest.Mode.IN_PLACE);
            engine.submit(first);
            Generation patient = engine.submit(GenerateRequest.ofIds(PROMPT, steps).withAdapter("patient").withRid("patient"));
            List<Generation> others = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                others.add(engine.submit(GenerateRequest.ofIds(new int[] {i, 1, 2}, steps).withAdapter("busy")));
            }
            engine.resume();
            patient.await();
            assertThat(others.stream().filter(g -> !g.ended()).count()).as("requests that came later and have not ended yet").isGreaterThan(20);
        }
    }

    @Test
    void aPrefixIsNeverReusedAcrossAdaptersLoadsOrKeys() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            engine.load(LoadLoraRequest.of("a", Fixture.LLAMA_R4.toString()));
            engine.load(LoadLoraRequest.of("b", Fixture.LLAMA_PATTERNS.toString()));
            GenerateRequest ask = GenerateRequest.ofIds(PROMPT, GREEDY);
            // Alternating quickly, each answer is that of its own adapter: no cell of one is read under another.
            int[] base = engine.submit(ask).await().outputIds();
            int[] underA = engine.submit(ask.withAdapter("a")).await().outputIds();
            int[] underB = engine.submit(ask.withAdapter("b")).await().outputIds();
            assertThat(underA).isNotEqualTo(base);
            assertThat(underB).isNotEqualTo(underA);
            for (int i = 0; i < 5; i++) {
                for (Generation g : engine.submit(List.of(ask, ask.withAdapter("a"), ask.withAdapter("b"), ask))) {
                    assertThat(g.await().outputIds()).isIn(base, underA, underB);
                }
                assertThat(engine.submit(ask.withAdapter("a")).await().outputIds()).containsExactly(underA);
                assertThat(engine.submit(ask.withAdapter("b")).await().outputIds()).containsExactly(underB);
            }
            assertThat(engine.submit(ask.withAdapter("a")).await().cachedTokens()).isEqualTo(PROMPT.length - 1);
            assertThat(engine.submit(ask.withAdapter("a").withExtraKey("other")).await().cachedTokens()).isZero();
            // A key that looks like another adapter's space is still another space.
            assertThat(engine.submit(ask.withExtraKey("1")).await().cachedTokens()).isZero();
            engine.unload("a").get(30, TimeUnit.SECONDS);
            engine.load(LoadLoraRequest.of("a", Fixture.LLAMA_PATTERNS.toString()));
            Generated again = engine.submit(ask.withAdapter("a")).await();
            assertThat(again.cachedTokens()).isZero();
            assertThat(again.outputIds()).containsExactly(underB);
        }
    }

    @Test
    void anUpsertReplacesWeightsUnderRunningRequestsAndSaysWhichMadeWhichToken() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            engine.load(new LoadLoraRequest("slot", Fixture.LLAMA_R4.toString(), false, false, OptionalLong.of(12), Optional.empty()));
            GenerateRequest ask = GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(60).build()).withAdapter("slot").withLogprobs();
            String oldDigest = engine.adapters().getFirst().digest();
            Generation running = engine.submit(ask.streaming());
            Generated early = running.next(PATIENCE).orElseThrow();
            assertThat(early.versions()).containsExactly(new LoraVersion(0, 12));
            AdapterInfo now = engine.load(LoadLoraRequest.upsert("slot", Fixture.LLAMA_PATTERNS.toString(), 13));
            assertThat(now.digest()).isNotEqualTo(oldDigest);
            Generated end = running.await();
            assertThat(end.versions()).hasSize(2);
            LoraVersion second = end.versions().getLast();
            assertThat(second.version()).isEqualTo(13);
            assertThat(second.fromToken()).isBetween(1, 59);
            assertThat(end.adapterDigest()).contains(now.digest());
            // From the boundary on, the new weights over everything before it, recomputed, made the tokens.
            int[] soFar = Arrays.copyOf(PROMPT, PROMPT.length + second.fromToken());
            System.arraycopy(end.outputIds(), 0, soFar, PROMPT.length, second.fromToken());
            int left = 60 - second.fromToken();
            Generated continued = engine.submit(GenerateRequest.ofIds(soFar, GREEDY.toBuilder().maxNewTokens(left).build()).withAdapter("slot")).await();
            assertThat(continued.outputIds()).containsExactly(Arrays.copyOfRange(end.outputIds(), second.fromToken(), 60));
            assertThat(engine.adapters()).singleElement().satisfies(a -> assertThat(a.version()).isEqualTo(13));
        }
    }

    @Test
    void weightsPublishedInMemoryAreACopyThatTrainingDoesNotReach() throws Exception {
        ModelConfig config = ModelConfig.read(Fixture.LLAMA);
        try (Engine engine = Engine.start(options().enableDeterministicInference(true).build()); TorchThread trainer = new TorchThread("trainer")) {
            LoraWeights training = trainer.call(() -> randomised(config, 4, 7));
            LoraWeights frozen = trainer.call(training::frozenCopy);
            engine.load("v12", frozen, 12);
            GenerateRequest ask = GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("v12").withLogprobs();
            Generated before = engine.submit(ask.withExtraKey("1")).await();
            trainer.run(() -> {
                Torch.noGrad(() -> training.parameters().values().forEach(p -> p.fill_(new Scalar(0.5))));
                training.close();
                frozen.close();
            });
            Generated after = engine.submit(ask.withExtraKey("2")).await();
            assertThat(after.outputScores().logprobs()).containsExactly(before.outputScores().logprobs());
            assertThat(after.outputIds()).containsExactly(before.outputIds());
            assertThat(engine.adapters().getFirst().path()).isEmpty();
            assertThatThrownBy(() -> engine.load("v13", trainer.call(() -> randomised(config, 4, 8)), 13)).isInstanceOf(AdapterRefused.class)
                    .hasMessageContaining("frozen copy");
        }
    }

    @Test
    void whatCanNeverFitIsRefusedAtOnceAndAFullQueueIs503() throws Exception {
        try (Engine engine = Engine.start(options().maxTotalTokens(64).maxRunningRequests(2).maxQueuedRequests(3).build())) {
            RejectedRequest tooLong = catchThrowableOfType(RejectedRequest.class,
                    () -> engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(58).build())));
            assertThat(tooLong.reply().status()).isEqualTo(400);
            assertThat(tooLong.reply().message()).contains("--max-total-tokens");
            engine.pause(PauseRequest.Mode.IN_PLACE);
            List<Generation> held = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                held.add(engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(30).build())));
            }
            RejectedRequest full = catchThrowableOfType(RejectedRequest.class, () -> engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY)));
            assertThat(full.reply()).isEqualTo(ErrorReply.unavailable("The request queue is full."));
            engine.resume();
            for (Generation generation : held) {
                assertThat(generation.await().outputIds()).hasSize(30);
            }
            // 64 tokens hold one request of 37, never two.
            assertThat(engine.load().usedTokens()).isLessThanOrEqualTo(64);
        }
    }

    @Test
    void pausingInPlaceAndRetractingChangeNothingInTheAnswer() throws Exception {
        try (Engine engine = Engine.start(options().enableDeterministicInference(true).build())) {
            GenerateRequest ask = GenerateRequest.ofIds(PROMPT, SamplingParams.builder().maxNewTokens(40).samplingSeed(4).build()).withLogprobs();
            Generated alone = engine.submit(ask.withExtraKey("alone")).await();
            for (PauseRequest.Mode mode : List.of(PauseRequest.Mode.IN_PLACE, PauseRequest.Mode.RETRACT)) {
                Generation paused = engine.submit(ask.withExtraKey(mode.name()).streaming());
                paused.next(PATIENCE).orElseThrow();
                engine.pause(mode);
                Generation later = engine.submit(ask.withExtraKey("later" + mode));
                assertThat(later.ended()).isFalse();
                engine.resume();
                Generated end = paused.await();
                assertThat(end.outputIds()).containsExactly(alone.outputIds());
                assertThat(end.outputScores().logprobs()).containsExactly(alone.outputScores().logprobs());
                assertThat(end.retractions()).isEqualTo(mode == PauseRequest.Mode.RETRACT ? 1 : 0);
                assertThat(later.await().outputIds()).containsExactly(alone.outputIds());
            }
        }
    }

    @Test
    void pausingWithAbortEndsWhatRunsWithWhatItHas() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            Generation running = engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(400).build()).streaming());
            running.next(PATIENCE).orElseThrow();
            engine.pause(PauseRequest.Mode.ABORT);
            Generated end = running.await();
            assertThat(end.finish()).contains(FinishReason.Abort.of("Aborted"));
            assertThat(end.outputIds().length).isBetween(1, 399);
        }
    }

    @Test
    void theAdapterUnusedForLongestMakesRoomAndComesBackWhenAsked() throws Exception {
        try (Engine engine = Engine.start(options().maxLorasPerBatch(2).maxLoadedLoras(2).build())) {
            engine.load(LoadLoraRequest.of("a", Fixture.LLAMA_R4.toString()));
            engine.load(LoadLoraRequest.of("b", Fixture.LLAMA_R2.toString()));
            engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("a")).await();
            engine.load(LoadLoraRequest.of("c", Fixture.LLAMA_PATTERNS.toString()));
            assertThat(engine.adapters()).extracting(AdapterInfo::name).containsExactly("a", "c");
            engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("b")).await();
            assertThat(engine.adapters()).extracting(AdapterInfo::name).containsExactly("c", "b");
            engine.pause(PauseRequest.Mode.IN_PLACE);
            engine.submit(List.of(GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("b"), GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("c")));
            assertThatThrownBy(() -> engine.load(LoadLoraRequest.of("d", Fixture.LLAMA_R4.toString()))).isInstanceOf(AdapterRefused.class)
                    .hasMessageContaining("all 2 places");
            assertThat(engine.adapters()).extracting(AdapterInfo::name).containsExactly("c", "b");
        }
    }

    @Test
    void aNameServedFromMemoryDoesNotComeBackFromADirectoryItHadBefore() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            engine.load(LoadLoraRequest.of("slot", Fixture.LLAMA_R2.toString()));
            engine.upsert("slot", copyOf(Fixture.LLAMA_R4), 2);
            engine.unload("slot").get(30, TimeUnit.SECONDS);
            assertThat(catchThrowableOfType(RejectedRequest.class, () -> engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("slot")))
                    .reply().status()).isEqualTo(400);
            assertThatThrownBy(() -> engine.load(LoadLoraRequest.of("x", "a\0b"))).isInstanceOf(AdapterRefused.class);
            assertThatThrownBy(() -> engine.load(LoadLoraRequest.of(" ", "a"))).isInstanceOf(AdapterRefused.class);
        }
    }

    @Test
    void abortingAnOldRequestNeverReachesALaterOneWithItsId() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            GenerateRequest ask = GenerateRequest.ofIds(PROMPT, GREEDY).withRid("same");
            Generation old = engine.submit(ask);
            old.await();
            engine.pause(PauseRequest.Mode.IN_PLACE);
            Generation later = engine.submit(ask);
            old.abort();
            RejectedRequest twice = catchThrowableOfType(RejectedRequest.class, () -> engine.submit(List.of(ask.withRid("two"), ask.withRid("two"))));
            assertThat(twice.reply().message()).isEqualTo("Duplicate request ID detected: two");
            engine.resume();
            assertThat(later.await().outputIds()).hasSize(12);
            assertThat(engine.submit(ask.withRid("two")).await().outputIds()).hasSize(12);
        }
    }

    @Test
    void aSlowReaderOfAStreamGetsTheEndAndHoldsLittleMemory() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            Generation slow = engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(200).build()).streaming());
            assertThat(engine.await(EngineLoad::idle, PATIENCE)).isTrue();
            int events = 1;
            Generated last = slow.take();
            while (last.finish().isEmpty()) {
                last = slow.take();
                events++;
            }
            assertThat(last.outputIds()).hasSize(200);
            assertThat(events).isLessThanOrEqualTo(64);
        }
    }

    @Test
    void unloadingWaitsForRequestsThatUseTheAdapterAndTakesTheNameAwayAtOnce() throws Exception {
        try (Engine engine = Engine.start(options().build())) {
            engine.load("a", copyOf(Fixture.LLAMA_R4), 1);
            Generation running = engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY.toBuilder().maxNewTokens(300).build()).withAdapter("a").streaming());
            running.next(PATIENCE).orElseThrow();
            engine.pause(PauseRequest.Mode.IN_PLACE);
            var freed = engine.unload("a");
            assertThat(freed).isNotDone();
            RejectedRequest refused = catchThrowableOfType(RejectedRequest.class, () -> engine.submit(GenerateRequest.ofIds(PROMPT, GREEDY).withAdapter("a")));
            assertThat(refused.reply().message()).startsWith("Got LoRA adapter that has never been loaded: a");
            engine.resume();
            assertThat(running.await().outputIds()).hasSize(300);
            freed.get(30, TimeUnit.SECONDS);
        }
    }

    @Test
    void anEngineThatServedThousandsOfStepsHoldsNoMoreNativeObjectsThanBefore() throws Exception {
        try (Engine engine = Engine.start(options().prefixCacheTokens(0).build())) {
            engine.load(LoadLoraRequest.of("a", Fixture.LLAMA_R4.toString()));
            long counted = 0;
            for (int round = 0; round < 4; round++) {
                List<GenerateRequest> asks = new ArrayList<>();
                for (int i = 0; i < 32; i++) {
                    GenerateRequest ask = GenerateRequest.ofIds(new int[] {i, 2, 3 + round}, GREEDY.toBuilder().temperature(1).maxNewTokens(1 + 7 * i).build());
                    asks.add(i % 2 == 0 ? ask.withAdapter("a") : ask);
                }
                for (Generation generation : engine.submit(asks)) {
                    generation.await();
                }
                assertThat(engine.flushCache(PATIENCE)).isTrue();
                if (round == 1) {
                    counted = Pointer.totalCount();
                }
            }
            assertThat(Pointer.totalCount()).isLessThanOrEqualTo(counted);
        }
    }

    private Path random(int rank, long seed) throws Exception {
        Path path = Files.createDirectory(directory.resolve("r" + rank));
        try (TorchThread thread = new TorchThread("maker")) {
            thread.run(() -> {
                try (LoraWeights weights = randomised(ModelConfig.read(Fixture.LLAMA), rank, seed)) {
                    PeftDirectory.write(weights, path, "llama-gqa");
                }
            });
        }
        return path;
    }

    private static LoraWeights copyOf(Path adapter) {
        try (TorchThread thread = new TorchThread("maker")) {
            return thread.call(() -> PeftDirectory.read(adapter, ModelConfig.read(Fixture.LLAMA)));
        }
    }

    private static LoraWeights randomised(ModelConfig config, int rank, long seed) {
        LoraWeights weights = LoraWeights.init(config, LoraSpec.allLinear(rank, 2.0 * rank), seed);
        Random random = new Random(seed);
        Torch.noGrad(() -> weights.parameters().values().forEach(p -> {
            float[] values = new float[(int) p.numel()];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) random.nextGaussian() * 0.2f;
            }
            p.copy_(torch.tensor(values).view(p.sizes()));
        }));
        return weights;
    }
}
