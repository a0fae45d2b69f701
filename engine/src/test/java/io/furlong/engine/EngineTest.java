package io.furlong.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.engine.Fixture.Expected;
import io.furlong.wire.FinishReason;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.SamplingParams;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the engine generates, against what transformers and PEFT compute for the same model, adapters and tokens. */
class EngineTest {
    private static final SamplingParams GREEDY = SamplingParams.builder().temperature(0).maxNewTokens(16).build();
    private static final List<Expected> BASE = Fixture.expected(Fixture.LLAMA);
    private static Engine engine;

    @BeforeAll
    static void start() throws Exception {
        engine = Engine.start(EngineOptions.builder(Fixture.LLAMA).skipTokenizerInit(true).randomSeed(1).build());
        engine.load(LoadLoraRequest.of("r4", Fixture.LLAMA_R4.toString()));
        engine.load(LoadLoraRequest.of("r2", Fixture.LLAMA_R2.toString()));
        engine.load(LoadLoraRequest.of("patterns", Fixture.LLAMA_PATTERNS.toString()));
    }

    @AfterAll
    static void stop() {
        engine.close();
    }

    @Test
    void greedyContinuationsAreTheReferences() throws Exception {
        for (Expected expected : BASE) {
            Generated generated = engine.submit(GenerateRequest.ofIds(expected.input(), GREEDY)).await();
            assertThat(generated.outputIds()).containsExactly(expected.greedy());
            assertThat(generated.finish()).contains(new FinishReason.Length(16));
        }
    }

    @Test
    void adaptersAndBaseInOneBatchEachAnswerAsTheReferenceDoes() throws Exception {
        List<String> adapters = List.of("r4", "r2", "patterns");
        List<List<Expected>> adapted = List.of(Fixture.expected(Fixture.LLAMA_R4), Fixture.expected(Fixture.LLAMA_R2), Fixture.expected(Fixture.LLAMA_PATTERNS));
        List<GenerateRequest> asks = new ArrayList<>();
        for (Expected base : BASE) {
            asks.add(GenerateRequest.ofIds(base.input(), GREEDY).withLogprobs());
            adapters.forEach(a -> asks.add(GenerateRequest.ofIds(base.input(), GREEDY).withAdapter(a).withLogprobs()));
        }
        List<Generation> generations = engine.submit(asks);
        for (int k = 0; k < BASE.size(); k++) {
            int length = BASE.get(k).input().length;
            assertFirst(generations.get(4 * k).await(), BASE.get(k), length);
            for (int a = 0; a < adapters.size(); a++) {
                Generated generated = generations.get(4 * k + 1 + a).await();
                assertFirst(generated, adapted.get(a).get(k), length);
                assertThat(generated.adapterDigest()).hasValueSatisfying(d -> assertThat(d).hasSize(64));
            }
        }
    }

    private static void assertFirst(Generated generated, Expected expected, int length) {
        float[] row = expected.logits()[length - 1];
        int best = 0;
        for (int v = 1; v < row.length; v++) {
            best = row[v] > row[best] ? v : best;
        }
        assertThat(generated.outputIds()[0]).isEqualTo(best);
        assertThat(generated.outputScores().logprobs()[0]).isCloseTo(expected.logprob(length, best, 1), within(1e-4f));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.7, 1.0, 1.3})
    void outputLogprobsAreOfTheTemperedLogits(double temperature) throws Exception {
        SamplingParams params = SamplingParams.builder().temperature(temperature).maxNewTokens(1).samplingSeed(3).topP(0.9).topK(40).build();
        for (Expected expected : BASE) {
            Generated generated = engine.submit(GenerateRequest.ofIds(expected.input(), params).withLogprobs(0, 5, List.of(1, 7))).await();
            int length = expected.input().length;
            int token = generated.outputIds()[0];
            assertThat(generated.outputScores().logprobs()[0]).isCloseTo(expected.logprob(length, token, temperature), within(1e-4f));
            assertThat(generated.outputScores().chosen().getFirst()).extracting(Scores.Score::token).containsExactly(1, 7);
            assertThat(generated.outputScores().chosen().getFirst().getFirst().logprob()).isCloseTo(expected.logprob(length, 1, temperature), within(1e-4f));
            List<Float> top = generated.outputScores().top().getFirst().stream().map(Scores.Score::logprob).toList();
            assertThat(top).hasSize(5).isSortedAccordingTo((a, b) -> Float.compare(b, a));
            // Prompt log-probs are raw whatever the temperature, and the first has none.
            float[] input = generated.inputScores().logprobs();
            assertThat(input).hasSize(length);
            assertThat(input[0]).isNaN();
            for (int t = 1; t < length; t++) {
                assertThat(input[t]).isCloseTo(expected.logprob(t, expected.input()[t], 1), within(1e-4f));
            }
        }
    }

    @Test
    void aTemperatureBelowOneMillionthIsGreedyWithRawLogprobs() throws Exception {
        Expected expected = BASE.get(1);
        SamplingParams params = SamplingParams.builder().temperature(1e-7).maxNewTokens(1).build();
        Generated generated = engine.submit(GenerateRequest.ofIds(expected.input(), params).withLogprobs()).await();
        assertThat(generated.outputIds()[0]).isEqualTo(expected.greedy()[0]);
        assertThat(generated.outputScores().logprobs()[0]).isCloseTo(expected.logprob(20, expected.greedy()[0], 1), within(1e-4f));
    }

    @Test
    void promptLogprobsStartWhereAskedAlsoWithAWarmCache() throws Exception {
        Expected expected = BASE.get(1);
        engine.submit(GenerateRequest.ofIds(expected.input(), GREEDY)).await();
        Generated generated = engine.submit(GenerateRequest.ofIds(expected.input(), GREEDY).withLogprobs(12, 0, List.of())).await();
        assertThat(generated.cachedTokens()).isEqualTo(12);
        assertThat(generated.inputScores().tokens()).containsExactly(Arrays.copyOfRange(expected.input(), 12, 20));
        assertThat(generated.inputScores().logprobs()[0]).isNaN();
        for (int t = 13; t < 20; t++) {
            assertThat(generated.inputScores().logprobs()[t - 12]).isCloseTo(expected.logprob(t, expected.input()[t], 1), within(1e-4f));
        }
        assertThat(generated.outputIds()).containsExactly(expected.greedy());
    }

    @Test
    void aPromptLongerThanOnePrefillIsComputedInParts() throws Exception {
        int[] prompt = new int[400];
        for (int i = 0; i < prompt.length; i++) {
            prompt[i] = (i * 7 + i / 3) % 96;
        }
        try (Engine small = Engine.start(EngineOptions.builder(Fixture.LLAMA).skipTokenizerInit(true).prefixCacheTokens(0).build())) {
            List<GenerateRequest> asks = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                int[] mine = prompt.clone();
                mine[0] = i;
                asks.add(GenerateRequest.ofIds(mine, GREEDY).withLogprobs(0, 0, List.of()));
            }
            List<Generated> together = new ArrayList<>();
            for (Generation generation : small.submit(asks)) {
                together.add(generation.await());
            }
            for (int i = 0; i < 8; i++) {
                Generated alone = small.submit(asks.get(i)).await();
                assertThat(together.get(i).outputIds()).containsExactly(alone.outputIds());
                assertThat(together.get(i).inputScores().logprobs()).hasSize(400);
                for (int t = 1; t < 400; t++) {
                    assertThat(together.get(i).inputScores().logprobs()[t]).isCloseTo(alone.inputScores().logprobs()[t], within(1e-4f));
                }
            }
        }
    }

    @Test
    void samplesOfOnePromptShareItsPrefill() throws Exception {
        int[] prompt = BASE.get(2).input();
        List<GenerateRequest> asks = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            asks.add(GenerateRequest.ofIds(prompt, SamplingParams.builder().maxNewTokens(8).samplingSeed(i).build()).withAdapter("r4").withExtraKey("share"));
        }
        List<Generated> all = new ArrayList<>();
        for (Generation generation : engine.submit(asks)) {
            all.add(generation.await());
        }
        assertThat(all.getFirst().cachedTokens()).isZero();
        assertThat(all.subList(1, 6)).allSatisfy(g -> assertThat(g.cachedTokens()).isEqualTo(prompt.length));
        assertThat(all.stream().map(g -> Arrays.toString(g.outputIds())).distinct().count()).isGreaterThan(1);
        for (int i = 0; i < 6; i++) {
            assertThat(engine.submit(asks.get(i)).await().outputIds()).containsExactly(all.get(i).outputIds());
        }
    }
}
