package io.furlong.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.torch.TorchThread;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.SamplingParams;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The choice of a token and its log-prob, against the definition worked out by hand. */
class TokenSamplerTest {
    private static final float[] LOGITS = {1f, 2f, 3f, 0f, -1f};
    private static final int END = 4;
    private static TorchThread thread;
    private final TokenSampler sampler = new TokenSampler(new LogitEdits(Set.of(END)));

    @BeforeAll
    static void start() {
        thread = new TorchThread("sampler");
    }

    @AfterAll
    static void stop() {
        thread.close();
    }

    @Test
    void tokensComeAsOftenAsTheirProbabilitySays() {
        double[] expected = softmax(LOGITS, 0.8);
        int[] counts = counts(SamplingParams.builder().temperature(0.8).build(), 20_000);
        for (int v = 0; v < LOGITS.length; v++) {
            assertThat(counts[v] / 20_000.0).isCloseTo(expected[v], within(0.012));
        }
    }

    @Test
    void topKKeepsTheMostLikelyInTheirProportion() {
        int[] counts = counts(SamplingParams.builder().topK(2).build(), 10_000);
        assertThat(counts[0] + counts[3] + counts[4]).isZero();
        assertThat(counts[2] / 10_000.0).isCloseTo(Math.E / (1 + Math.E), within(0.015));
    }

    @Test
    void topPKeepsTheFewestThatReachIt() {
        // Probabilities 0.636, 0.234, 0.086, …: 0.7 needs two, 0.6 one.
        assertThat(counts(SamplingParams.builder().topP(0.7).build(), 3_000)).satisfies(c -> {
            assertThat(c[1]).isPositive();
            assertThat(c[0] + c[3] + c[4]).isZero();
        });
        assertThat(counts(SamplingParams.builder().topP(0.6).build(), 500)[2]).isEqualTo(500);
    }

    @Test
    void minPDropsWhatIsTooFarBelowTheMostLikely() {
        int[] counts = counts(SamplingParams.builder().minP(0.3).build(), 3_000);
        assertThat(counts[1]).isPositive();
        assertThat(counts[0] + counts[3] + counts[4]).isZero();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.05, 0.5, 0.9, 0.999})
    void topPKeepsTheFewestThatReachItInAWideVocabularyToo(double topP) {
        Random random = new Random(3);
        float[] wide = new float[3000];
        for (int v = 0; v < wide.length; v++) {
            wide[v] = (float) (2 * random.nextGaussian());
        }
        double[] probs = softmax(wide, 1);
        int[] byProbability = IntStream.range(0, wide.length).boxed().sorted(Comparator.comparingDouble(v -> -probs[v])).mapToInt(v -> v).toArray();
        Set<Integer> allowed = new HashSet<>();
        double before = 0;
        for (int v : byProbability) {
            if (before <= topP) {
                allowed.add(v);
            }
            before += probs[v];
        }
        Set<Integer> drawn = new HashSet<>();
        for (int seed = 0; seed < 2000; seed++) {
            drawn.add(sample(List.of(request(SamplingParams.builder().topP(topP).build(), seed)), wide).getFirst().token());
        }
        assertThat(allowed).containsAll(drawn);
        // Some of the least likely that are allowed come up among so many draws.
        assertThat(drawn.stream().mapToDouble(v -> probs[v]).min().orElseThrow()).isLessThanOrEqualTo(probs[byProbability[allowed.size() / 2]]);
    }

    @Test
    void logprobsAreTakenBeforeTruncationAndAfterTemperature() {
        TokenSampler.Pick pick = sample(List.of(request(SamplingParams.builder().temperature(0.5).topK(1).build(), 1)), LOGITS).getFirst();
        assertThat(pick.token()).isEqualTo(2);
        assertThat((double) pick.logprob()).isCloseTo(Math.log(softmax(LOGITS, 0.5)[2]), within(1e-6));
    }

    @Test
    void penaltiesAndBiasChangeLogitsAsDefined() {
        SamplingParams params = SamplingParams.builder().temperature(0).frequencyPenalty(0.5).presencePenalty(0.25).repetitionPenalty(1.5)
                .logitBias(Map.of(3, 0.75)).build();
        Request request = request(params, 1);
        for (int token : new int[] {2, 2, 4}) {
            request.append(new TokenSampler.Pick(token, 0, List.of(), List.of()));
        }
        float[] edited = LOGITS.clone();
        edited[2] = (3f - 1f - 0.25f) / 1.5f;
        edited[4] = (-1f - 0.5f - 0.25f) * 1.5f;
        edited[3] = 0.75f;
        TokenSampler.Pick pick = sample(List.of(request), LOGITS).getFirst();
        assertThat(pick.token()).isEqualTo(1);
        assertThat((double) pick.logprob()).isCloseTo(Math.log(softmax(edited, 1)[1]), within(1e-6));
    }

    @Test
    void endTokensAreBarredUntilTheLeastNumberOfTokens() {
        SamplingParams params = SamplingParams.builder().temperature(0).minNewTokens(1).stopTokenIds(List.of(2)).build();
        Request request = request(params, 1);
        float[] ending = {1f, 0f, 8f, 0f, 9f};
        assertThat(sample(List.of(request), ending).getFirst().token()).isZero();
        request.append(new TokenSampler.Pick(0, 0, List.of(), List.of()));
        assertThat(sample(List.of(request), ending).getFirst().token()).isEqualTo(4);
    }

    @Test
    void aSeedGivesTheSameTokenInAnyRowBesideAnyOthers() {
        for (int seed = 0; seed < 50; seed++) {
            int alone = sample(List.of(request(SamplingParams.DEFAULT, seed)), LOGITS).getFirst().token();
            List<Request> many = new ArrayList<>();
            for (int other = 0; other < 9; other++) {
                many.add(request(SamplingParams.builder().temperature(0.3 + other).build(), 100 + other));
            }
            many.add(seed % 10, request(SamplingParams.DEFAULT, seed));
            assertThat(sample(many, LOGITS).get(seed % 10).token()).isEqualTo(alone);
        }
        assertThat(TokenSampler.uniform(1, 5)).isNotEqualTo(TokenSampler.uniform(1, 6)).isNotEqualTo(TokenSampler.uniform(2, 5));
    }

    @Test
    void logitsThatAreNoNumbersAreNoticed() {
        float[] broken = {1f, Float.NaN, 0f, 0f, 0f};
        assertThat(sample(List.of(request(SamplingParams.DEFAULT, 1)), broken).getFirst().token()).isEqualTo(TokenSampler.Pick.NOT_A_NUMBER);
        assertThat(sample(List.of(request(SamplingParams.builder().temperature(0).build(), 1)), broken).getFirst().token())
                .isEqualTo(TokenSampler.Pick.NOT_A_NUMBER);
        assertThat(sample(List.of(request(SamplingParams.builder().topP(0.5).build(), 1)), broken).getFirst().token())
                .isEqualTo(TokenSampler.Pick.NOT_A_NUMBER);
    }

    private int[] counts(SamplingParams params, int draws) {
        int[] counts = new int[LOGITS.length];
        for (int from = 0; from < draws; from += 100) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                requests.add(request(params, from + i));
            }
            sample(requests, LOGITS).forEach(pick -> counts[pick.token()]++);
        }
        return counts;
    }

    /** Every row has the same logits. */
    private List<TokenSampler.Pick> sample(List<Request> requests, float[] logits) {
        return thread.call(() -> sampler.sample(torch.tensor(logits).repeat(requests.size(), 1), requests));
    }

    private static Request request(SamplingParams params, long seed) {
        GenerateRequest ask = GenerateRequest.ofIds(new int[] {0, 1}, params);
        return new Request(new Request.Plan("r" + seed, ask, new int[] {0, 1}, 10, seed, 0, Optional.empty(), List.of()), new Generation("r" + seed, g -> {}));
    }

    private static double[] softmax(float[] logits, double t) {
        double[] p = new double[logits.length];
        double sum = 0;
        for (int v = 0; v < p.length; v++) {
            p[v] = Math.exp(logits[v] / t);
            sum += p[v];
        }
        for (int v = 0; v < p.length; v++) {
            p[v] /= sum;
        }
        return p;
    }
}
