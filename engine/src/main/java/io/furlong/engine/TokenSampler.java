package io.furlong.engine;

import io.furlong.engine.Scores.Score;
import io.furlong.torch.Tensors;
import io.furlong.wire.SamplingParams;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Chooses the next token of each row and says how likely it was.
 *
 * <p>The log-prob is log_softmax((logits after penalties and bias) / T)[token], before top-k, top-p and min-p; below T 1e-6 the choice is the most
 * likely token and T is taken as 1 (SGLang's {@code layers/sampler.py}). Truncations are applied to the sorted probabilities in the order top-k,
 * top-p, min-p, each on the untruncated probabilities, and what is left is renormalised.
 *
 * <p>One uniform number makes the choice, by inverting the cumulative distribution in token order; it is a hash of the request's seed and the
 * token's position. So a row's outcome depends on that row's logits and seed, on no generator's state and on no other row.
 */
final class TokenSampler {
    /** Of a truncated distribution so many of the likeliest tokens are looked at first; most often they are enough. */
    private static final int LOOKED_AT = 64;

    private final LogitEdits edits;

    /** What was chosen; {@link #NOT_A_NUMBER} as token if the logits held one. */
    record Pick(int token, float logprob, List<Score> top, List<Score> chosen) {
        static final int NOT_A_NUMBER = -1;
    }

    TokenSampler(LogitEdits edits) {
        this.edits = edits;
    }

    /**
     * @param logits   float32, shape [rows, vocab]; changed in place
     * @param requests one for each row
     */
    List<Pick> sample(Tensor logits, List<Request> requests) {
        int rows = requests.size();
        int vocab = (int) logits.size(1);
        edit(logits, requests);
        if (requests.stream().anyMatch(r -> temperature(r.params()) != 1)) {
            float[] temperatures = new float[rows];
            for (int i = 0; i < rows; i++) {
                temperatures[i] = temperature(requests.get(i).params());
            }
            logits.div_(torch.tensor(temperatures).view(rows, 1));
        }
        Tensor logSoftmax = torch.log_softmax(logits, 1);
        float[] logprobs = Tensors.floats(logSoftmax);
        boolean drawn = requests.stream().anyMatch(r -> !r.params().greedy());
        float[] probs = drawn ? Tensors.floats(logSoftmax.exp()) : logprobs;
        List<Pick> picks = new ArrayList<>(rows);
        for (int i = 0; i < rows; i++) {
            Request request = requests.get(i);
            int from = i * vocab;
            int token = request.params().greedy() ? mostLikely(logprobs, from, vocab) : draw(probs, from, vocab, request);
            picks.add(token == Pick.NOT_A_NUMBER ? new Pick(token, Float.NaN, List.of(), List.of()) : pick(logprobs, from, vocab, token, request));
        }
        return picks;
    }

    /** Adds the log-probs of {@code tokens}, each under the row before it, to a request's input scores; always of the raw logits. */
    static void score(Tensor logits, int[] tokens, Request request) {
        int vocab = (int) logits.size(1);
        float[] logprobs = Tensors.floats(torch.log_softmax(logits, 1));
        for (int i = 0; i < tokens.length; i++) {
            addInput(request, pick(logprobs, i * vocab, vocab, tokens[i], request));
        }
    }

    /** The first token whose log-prob was asked for has none, as in SGLang. */
    static void scoreFirst(Request request) {
        addInput(request, new Pick(request.plan().prompt()[request.scoresFrom()], Float.NaN, List.of(), List.of()));
    }

    /** In [0, 1), the same for the same seed and position. */
    static double uniform(long seed, int position) {
        long z = mix(seed + 0x9E3779B97F4A7C15L);
        z = mix(z ^ (position + 1) * 0xD1B54A32D192ED03L);
        return (z >>> 11) * 0x1p-53;
    }

    /** The finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
    private static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    private void edit(Tensor logits, List<Request> requests) {
        for (int i = 0; i < requests.size(); i++) {
            if (edits.needed(requests.get(i))) {
                Tensor row = logits.select(0, i);
                float[] values = Tensors.floats(row);
                edits.apply(values, requests.get(i));
                row.copy_(torch.tensor(values));
            }
        }
    }

    private static float temperature(SamplingParams params) {
        return params.greedy() ? 1 : (float) params.temperature();
    }

    private static int mostLikely(float[] logprobs, int from, int vocab) {
        int best = 0;
        for (int v = 1; v < vocab; v++) {
            if (logprobs[from + v] > logprobs[from + best]) {
                best = v;
            }
        }
        return Float.isNaN(logprobs[from + best]) ? Pick.NOT_A_NUMBER : best;
    }

    private static int draw(float[] probs, int from, int vocab, Request request) {
        SamplingParams params = request.params();
        double u = uniform(request.plan().seed(), request.length());
        if (params.topK() > 0 && params.topK() < vocab || params.topP() < 1 || params.minP() > 0) {
            return drawTruncated(Arrays.copyOfRange(probs, from, from + vocab), params, u);
        }
        double total = 0;
        for (int v = 0; v < vocab; v++) {
            total += probs[from + v];
        }
        if (!(total > 0)) {
            return Pick.NOT_A_NUMBER;
        }
        double target = u * total;
        double sum = 0;
        int last = 0;
        for (int v = 0; v < vocab; v++) {
            if (probs[from + v] > 0) {
                sum += probs[from + v];
                last = v;
                if (sum > target) {
                    break;
                }
            }
        }
        return last;
    }

    private static int drawTruncated(float[] probs, SamplingParams params, double u) {
        int looked = Math.min(probs.length, params.topK() > 0 ? Math.max(params.topK(), LOOKED_AT) : LOOKED_AT);
        while (true) {
            long[] order = likeliest(probs, looked);
            double kept = 0;
            int count = 0;
            float least = (float) (probs[token(order[0])] * params.minP());
            while (count < order.length && !(params.topK() > 0 && count >= params.topK() || kept > params.topP() || probs[token(order[count])] < least)) {
                kept += probs[token(order[count++])];
            }
            if (count == order.length && looked < probs.length) {
                looked = Math.min(probs.length, 8 * looked);
                continue;
            }
            return kept > 0 ? draw(probs, order, count, u * kept) : Pick.NOT_A_NUMBER;
        }
    }

    private static int draw(float[] probs, long[] order, int count, double target) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += probs[token(order[i])];
            if (sum > target) {
                return token(order[i]);
            }
        }
        return token(order[count - 1]);
    }

    /** The {@code most} likeliest tokens by falling probability, equal ones by rising id; the bits of a float ≥ 0 sort like the float. */
    private static long[] likeliest(float[] probs, int most) {
        long[] kept = new long[Math.min(probs.length, 2 * most)];
        int n = 0;
        long limit = Long.MAX_VALUE;
        for (int v = 0; v < probs.length; v++) {
            long entry = (long) ~Float.floatToIntBits(probs[v]) << 32 | v;
            if (entry < limit) {
                kept[n++] = entry;
                if (n == kept.length && n > most) {
                    Arrays.sort(kept);
                    n = most;
                    limit = kept[most - 1];
                }
            }
        }
        Arrays.sort(kept, 0, n);
        return Arrays.copyOf(kept, Math.min(n, most));
    }

    private static int token(long entry) {
        return (int) entry;
    }

    private static Pick pick(float[] logprobs, int from, int vocab, int token, Request request) {
        int top = request.plan().ask().returnLogprob() ? request.plan().ask().topLogprobsNum() : 0;
        List<Integer> ids = request.plan().ask().returnLogprob() ? request.plan().ask().tokenIdsLogprob() : List.of();
        return new Pick(token, logprobs[from + token], top == 0 ? List.of() : mostLikely(logprobs, from, vocab, top),
                ids.stream().map(id -> new Score(id, logprobs[from + id])).toList());
    }

    private static List<Score> mostLikely(float[] logprobs, int from, int vocab, int count) {
        List<Score> best = new ArrayList<>();
        for (int v = 0; v < vocab; v++) {
            float value = logprobs[from + v];
            if (best.size() == count && value <= best.getLast().logprob()) {
                continue;
            }
            int at = best.size();
            while (at > 0 && best.get(at - 1).logprob() < value) {
                at--;
            }
            best.add(at, new Score(v, value));
            if (best.size() > count) {
                best.removeLast();
            }
        }
        return best;
    }

    private static void addInput(Request request, Pick pick) {
        request.inputScores().add(pick.token(), pick.logprob());
        if (request.plan().ask().topLogprobsNum() > 0) {
            request.inputScores().addTop(pick.top());
        }
        if (!request.plan().ask().tokenIdsLogprob().isEmpty()) {
            request.inputScores().addChosen(pick.chosen());
        }
    }
}
