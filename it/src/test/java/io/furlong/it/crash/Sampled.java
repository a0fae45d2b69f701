package io.furlong.it.crash;

import io.furlong.core.Group;
import io.furlong.core.Sample;
import java.util.Arrays;
import java.util.Optional;

/**
 * One sample as the trainer got it.
 *
 * @param row     of the dataset, with its pass
 * @param digest  of the weights that it is stamped with
 * @param content what tells it from others: a hash of its tokens and log-probs
 */
record Sampled(String adapter, String row, int index, long version, String digest, String content) {
    private static final String MARK = "SAMPLE|";
    private static final String END = ".";

    static Sampled of(Group g, Sample s) {
        return new Sampled(g.adapter(), g.prompt().epoch() + ":" + g.prompt().row(), s.index(), s.stamp().version(), s.stamp().digest(),
                content(s.promptIds(), s.responseIds(), s.logProbs()));
    }

    /** @param logProbs bit for bit */
    static String content(int[] prompt, int[] response, float[] logProbs) {
        return String.format("%08x%08x%08x", Arrays.hashCode(prompt), Arrays.hashCode(response), Arrays.hashCode(logProbs));
    }

    String line() {
        return MARK + String.join("|", adapter, row, Integer.toString(index), Long.toString(version), digest, content, END);
    }

    static Optional<Sampled> parse(String line) {
        String[] p = line.split("\\|", -1);
        return !line.startsWith(MARK) || p.length != 8 || !p[7].equals(END) ? Optional.empty()
                : Optional.of(new Sampled(p[1], p[2], Integer.parseInt(p[3]), Long.parseLong(p[4]), p[5], p[6]));
    }
}
