package io.furlong.train;

import io.furlong.train.AdapterReport.Gap;
import io.furlong.train.loss.KlToBase;
import java.util.Optional;

/** Adds up how far trainer and engine are apart, token by token, under the weights that made each. */
final class GapTally {
    private static final double NEAR = 0.1;

    private long tokens;
    private double sum;
    private double max;
    private double kl;
    private long outside;

    /** One token's log-prob by the trainer and by the engine. */
    void add(double trainer, double engine) {
        double gap = Math.abs(trainer - engine);
        tokens++;
        sum += gap;
        max = Math.max(max, gap);
        kl += KlToBase.of(engine, trainer);
        // Written so that what is not a number is outside.
        outside += Math.abs(Math.exp(trainer - engine) - 1) <= NEAR ? 0 : 1;
    }

    /** Empty when nothing was added. */
    Optional<Gap> figures() {
        return tokens == 0 ? Optional.empty() : Optional.of(new Gap(max, sum / tokens, kl / tokens, (double) outside / tokens, tokens));
    }
}
