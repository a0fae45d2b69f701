package io.furlong.train.pretrain;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * @param step           optimizer steps done
 * @param steps          in all
 * @param loss           mean negative log-prob of a response token since the last report, natural log
 * @param tokensPerSecond prompt and response tokens since the last report, by wall time
 * @param left           estimate for the rest, at the mean rate so far
 * @param scores         a scoring that was just done, a task each; else empty
 */
public record PretrainProgress(long step, long steps, double loss, double tokensPerSecond, Duration left, List<TaskScore> scores) {
    public PretrainProgress {
        scores = List.copyOf(scores);
    }

    /** One line for people. */
    public String line() {
        String line = String.format(Locale.ROOT, "step %d of %d  loss %.4f  %,.0f tokens/s  %d:%02d left", step, steps, loss, tokensPerSecond,
                left.toMinutes(), left.toSecondsPart());
        return scores.isEmpty() ? line : line + "\n  right at T=1 / greedy / competence: " + scores.stream()
                .map(s -> String.format(Locale.ROOT, "%s %.2f/%.2f/%.3f", s.task().key(), s.right(), s.greedyRight(), s.competence()))
                .collect(Collectors.joining("  "));
    }
}
