package io.furlong.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Log-probs of consecutive tokens.
 *
 * @param tokens   token ids, shape [N]
 * @param logprobs natural log, NaN where there is none, shape [N]
 * @param top      the most likely tokens at each position, most likely first; empty unless asked for, an inner list is empty where there is none
 * @param chosen   the tokens asked for by id, likewise
 */
public record Scores(int[] tokens, float[] logprobs, List<List<Score>> top, List<List<Score>> chosen) {
    public static final Scores NONE = new Scores(new int[0], new float[0], List.of(), List.of());

    /** One token's log-prob. */
    public record Score(int token, float logprob) {}

    public Scores {
        if (tokens.length != logprobs.length) {
            throw new IllegalArgumentException(tokens.length + " tokens, " + logprobs.length + " log-probs");
        }
        top = List.copyOf(top);
        chosen = List.copyOf(chosen);
    }

    /** The part from {@code from} on. */
    public Scores from(int from) {
        return new Scores(Arrays.copyOfRange(tokens, from, tokens.length), Arrays.copyOfRange(logprobs, from, logprobs.length),
                top.isEmpty() ? top : top.subList(from, top.size()), chosen.isEmpty() ? chosen : chosen.subList(from, chosen.size()));
    }

    /** Scores in the making. */
    static final class Builder {
        private int[] tokens = new int[16];
        private float[] logprobs = new float[16];
        private int length;
        private final List<List<Score>> top = new ArrayList<>();
        private final List<List<Score>> chosen = new ArrayList<>();

        void add(int token, float logprob) {
            if (length == tokens.length) {
                tokens = Arrays.copyOf(tokens, 2 * length);
                logprobs = Arrays.copyOf(logprobs, 2 * length);
            }
            tokens[length] = token;
            logprobs[length++] = logprob;
        }

        void addTop(List<Score> scores) {
            top.add(scores);
        }

        void addChosen(List<Score> scores) {
            chosen.add(scores);
        }

        int length() {
            return length;
        }

        Scores build() {
            return new Scores(Arrays.copyOf(tokens, length), Arrays.copyOf(logprobs, length), top, chosen);
        }
    }
}
