package io.furlong.torch;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * What an adapter to be trained looks like.
 *
 * @param rank    inner width of every adapted projection
 * @param alpha   the update is scaled by {@code alpha / rank}, or by {@code alpha / sqrt(rank)} with rank-stabilised scaling
 * @param scaling which of the two
 * @param targets projections that are adapted, in every layer
 */
public record LoraSpec(int rank, double alpha, Scaling scaling, Set<Projection> targets) {

    /** How the update is scaled. */
    public enum Scaling {
        /** {@code alpha / rank} (arXiv:2106.09685). */
        STANDARD,
        /** {@code alpha / sqrt(rank)} (rsLoRA, arXiv:2312.03732). */
        RANK_STABILISED;

        double factor(double alpha, int rank) {
            return this == STANDARD ? alpha / rank : alpha * Math.sqrt(rank) / rank;
        }
    }

    public LoraSpec {
        if (rank < 1) {
            throw new IllegalArgumentException("rank is " + rank + ", must be at least 1");
        }
        if (!(alpha > 0) || Double.isInfinite(alpha)) {
            throw new IllegalArgumentException("alpha is " + alpha + ", must be a positive number");
        }
        if (targets.isEmpty()) {
            throw new IllegalArgumentException("targets are empty, name at least one projection");
        }
        targets = Collections.unmodifiableSet(EnumSet.copyOf(targets));
    }

    /** All seven projections, standard scaling. */
    public static LoraSpec allLinear(int rank, double alpha) {
        return new LoraSpec(rank, alpha, Scaling.STANDARD, EnumSet.allOf(Projection.class));
    }

    /** Factor on every update. */
    public double factor() {
        return scaling.factor(alpha, rank);
    }
}
