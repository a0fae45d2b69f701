package io.furlong.core;

import java.util.List;

/**
 * @param rank    r
 * @param alpha   the update is scaled by alpha / r
 * @param targets linear layers by their Hugging Face names, or {@code all-linear} alone
 */
public record LoraConfig(int rank, double alpha, List<String> targets) {
    public static final List<String> ALL_LINEAR = List.of("all-linear");

    public LoraConfig {
        targets = List.copyOf(targets);
        Check.field("rank", rank, rank >= 1, "an integer ≥ 1");
        Check.field("alpha", alpha, Double.isFinite(alpha) && alpha > 0, "a finite number above 0");
        Check.field("target_modules", targets, !targets.isEmpty(), "at least one linear layer, or all-linear");
    }
}
