package io.furlong.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.wire.GenerateRequest;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.SamplingParams;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** In the deterministic setting a seeded request gives the same bits whatever happens around it. */
class DeterminismTest {
    private static final Random RANDOM = new Random(5);
    private static Engine engine;

    @BeforeAll
    static void start() throws Exception {
        engine = Engine.start(EngineOptions.builder(Fixture.LLAMA).skipTokenizerInit(true).enableDeterministicInference(true).build());
        engine.load(LoadLoraRequest.of("a", Fixture.LLAMA_R4.toString()));
        engine.load(LoadLoraRequest.of("b", Fixture.LLAMA_PATTERNS.toString()));
    }

    @AfterAll
    static void stop() {
        engine.close();
    }

    @Test
    void aThousandRequestsAloneMixedReorderedAfterAbortsAndWithAWarmCache() throws Exception {
        sameBits(requests(1000, 10, 3));
    }

    @Test
    @Tag("slow")
    void aThousandLongRequests() throws Exception {
        sameBits(requests(1000, 100, 40));
    }

    private static void sameBits(List<GenerateRequest> asks) throws Exception {
        Map<String, Bits> alone = new HashMap<>();
        for (GenerateRequest ask : asks) {
            alone.put(key(ask), Bits.of(engine.submit(cold(ask)).await()));
        }
        compare("mixed", alone, asks, r -> cold(r));
        List<GenerateRequest> other = new ArrayList<>(asks);
        Collections.shuffle(other, RANDOM);
        compare("in another order", alone, other, r -> cold(r));
        abortSome(other);
        compare("after aborts", alone, asks, r -> cold(r));
        compare("with a cache that fills", alone, asks, r -> r);
        compare("with a warm cache", alone, other, r -> r);
    }

    private static void compare(String how, Map<String, Bits> alone, List<GenerateRequest> asks, UnaryOperator<GenerateRequest> as) throws Exception {
        List<Generation> generations = new ArrayList<>();
        for (int from = 0; from < asks.size(); from += 50) {
            generations.addAll(engine.submit(asks.subList(from, from + 50).stream().map(as).toList()));
        }
        for (int i = 0; i < asks.size(); i++) {
            assertThat(Bits.of(generations.get(i).await())).as(how + ": " + key(asks.get(i))).isEqualTo(alone.get(key(asks.get(i))));
        }
    }

    private static void abortSome(List<GenerateRequest> asks) throws Exception {
        List<Generation> generations = engine.submit(asks.subList(0, 100).stream().map(r -> cold(r).streaming()).toList());
        for (int i = 0; i < 100; i += 3) {
            generations.get(i).next(Duration.ofSeconds(20)).orElseThrow();
            generations.get(i).abort();
        }
    }

    /** Prompts share beginnings, so that a warm cache has something to give. */
    private static List<GenerateRequest> requests(int count, int promptLength, int maxNewTokens) {
        List<GenerateRequest> asks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            // Some are so long that with others they need more than one prefill.
            int length = promptLength + i % 7 + (i % 50 == 7 ? 300 : 0);
            int[] prompt = new Random(i % 40).ints(length, 0, 96).toArray();
            prompt[prompt.length - 1] = i % 96;
            SamplingParams params = SamplingParams.builder().maxNewTokens(1 + i % maxNewTokens).temperature(i % 5 == 0 ? 0 : 0.6 + i % 3 * 0.4)
                    .topP(i % 11 == 0 ? 0.8 : 1).samplingSeed(i).build();
            GenerateRequest ask = GenerateRequest.ofIds(prompt, params).withLogprobs();
            asks.add(i % 3 == 0 ? ask : ask.withAdapter(i % 3 == 1 ? "a" : "b"));
        }
        return asks;
    }

    /** A key of its own: nothing is reused. */
    private static GenerateRequest cold(GenerateRequest ask) {
        return ask.withExtraKey("cold" + RANDOM.nextLong());
    }

    private static String key(GenerateRequest ask) {
        return ask.samplingParams().samplingSeed().getAsLong() + " " + ask.loraPath() + " " + Arrays.toString(ask.inputIds().orElseThrow());
    }

    private record Bits(List<Integer> tokens, List<Integer> logprobBits, Optional<String> digest) {
        static Bits of(Generated g) {
            List<Integer> bits = new ArrayList<>();
            for (float logprob : g.outputScores().logprobs()) {
                bits.add(Float.floatToRawIntBits(logprob));
            }
            return new Bits(Arrays.stream(g.outputIds()).boxed().toList(), bits, g.adapterDigest());
        }
    }
}
