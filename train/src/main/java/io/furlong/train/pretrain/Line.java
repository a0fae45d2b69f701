package io.furlong.train.pretrain;

import java.util.Arrays;
import java.util.List;

/**
 * A prompt and its response as tokens, end token included. What is learned and scored are the response's tokens; the prompt's are given.
 *
 * @param tokens      prompt, response, end token
 * @param promptTokens how many of them are the prompt
 */
record Line(int[] tokens, int promptTokens) {
    static Line of(String prompt, String response) {
        int[] given = CharVocabulary.encode(prompt);
        int[] answer = CharVocabulary.encode(response);
        int[] tokens = Arrays.copyOf(given, given.length + answer.length + 1);
        System.arraycopy(answer, 0, tokens, given.length, answer.length);
        tokens[tokens.length - 1] = CharVocabulary.END;
        return new Line(tokens, given.length);
    }

    /** What goes into the model: all but the end token. */
    int[] input() {
        return Arrays.copyOf(tokens, tokens.length - 1);
    }

    /** How many tokens are predicted: the response and the end token. */
    int targets() {
        return tokens.length - promptTokens;
    }

    /**
     * Where in a packed forward over some lines the predictions are, and what they should be.
     *
     * @param rows   row of the packed hidden states, per prediction
     * @param tokens the token to predict, per prediction
     */
    record Targets(long[] rows, long[] tokens) {}

    static Targets targets(List<Line> lines) {
        int count = lines.stream().mapToInt(Line::targets).sum();
        long[] rows = new long[count];
        long[] tokens = new long[count];
        int at = 0;
        int start = 0;
        for (Line line : lines) {
            for (int i = line.promptTokens; i < line.tokens.length; i++, at++) {
                rows[at] = start + i - 1;
                tokens[at] = line.tokens[i];
            }
            start += line.tokens.length - 1;
        }
        return new Targets(rows, tokens);
    }
}
