package io.furlong.train.pretrain;

import io.furlong.core.ConfigException;
import java.nio.file.Path;

/**
 * @param output       the model directory to write; it may hold an earlier model of this kind, which is replaced
 * @param seed         decides corpus and first weights, and with them every bit of the result on one machine
 * @param examples     examples seen in all
 * @param batch        examples an optimizer step
 * @param lr           peak learning rate: reached after the warm-up, held to 60 % of the steps, then linear down to 0
 * @param warmupSteps  steps of linear warm-up
 * @param reportEvery  steps between progress reports
 * @param scoreEvery   steps between scorings on held-out prompts; the model directory is written at each, too
 * @param scorePrompts held-out prompts a task for those; the last scoring uses four times as many
 */
public record PretrainOptions(Path output, long seed, long examples, int batch, double lr, int warmupSteps, int reportEvery, int scoreEvery,
                              int scorePrompts) {
    public PretrainOptions {
        check("examples", examples, examples >= batch, "at least one batch (" + batch + ")");
        check("batch", batch, batch >= 1, "≥ 1");
        check("lr", lr, Double.isFinite(lr) && lr > 0, "a finite number above 0");
        check("warmup_steps", warmupSteps, warmupSteps >= 0, "≥ 0");
        check("report_every", reportEvery, reportEvery >= 1, "≥ 1");
        check("score_every", scoreEvery, scoreEvery >= 1, "≥ 1");
        check("score_prompts", scorePrompts, scorePrompts >= 1 && scorePrompts <= 50, "from 1 to 50");
    }

    /** What made the shipped model, but for the output. */
    public static PretrainOptions full(Path output, long seed) {
        return new PretrainOptions(output, seed, 704_000, 128, 3e-3, 100, 50, 500, 50);
    }

    /** The same code for some seconds, for tests: the model learns hardly anything. */
    public static PretrainOptions brief(Path output, long seed) {
        return new PretrainOptions(output, seed, 32 * 40, 32, 3e-3, 4, 10, 20, 8);
    }

    public long steps() {
        return examples / batch;
    }

    double lrAt(long step) {
        double done = (double) step / steps();
        double decay = done <= 0.6 ? 1 : (1 - done) / 0.4;
        return lr * Math.min(decay, warmupSteps == 0 ? 1 : Math.min(1, (step + 1.0) / warmupSteps));
    }

    private static void check(String field, Object value, boolean right, String accepted) {
        if (!right) {
            throw new ConfigException(field, value, accepted);
        }
    }
}
