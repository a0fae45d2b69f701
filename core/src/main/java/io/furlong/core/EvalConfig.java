package io.furlong.core;

import java.nio.file.Path;

/**
 * @param data     held-out rows, same columns as the training data
 * @param every    steps between evaluations; 0 means only first and last
 * @param maxRows  rows used, from the start of the file
 * @param samples  responses a prompt at the training temperature, beside the greedy one; 0 means greedy only
 */
public record EvalConfig(Path data, int every, int maxRows, int samples) {
    public EvalConfig {
        Check.field("eval.every", every, every >= 0, "≥ 0");
        Check.field("eval.max_rows", maxRows, maxRows >= 1, "≥ 1");
        Check.field("eval.samples", samples, samples >= 0, "≥ 0");
    }
}
