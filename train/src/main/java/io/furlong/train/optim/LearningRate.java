package io.furlong.train.optim;

import io.furlong.core.ConfigException;
import io.furlong.core.OptimizerConfig;

/**
 * The learning rate of each optimizer step: linear warm-up to the peak, then constant, or linear or cosine down to 0 where the adapter ends.
 *
 * @param peak   the highest rate
 * @param shape  what follows the warm-up
 * @param warmup steps of warm-up; the last of them has the peak rate
 * @param first  the adapter's step count at which the schedule starts; more than 0 for an adapter that goes on from an earlier registration
 * @param end    the adapter's step count at which it ends
 */
public record LearningRate(double peak, Shape shape, int warmup, long first, long end) {
    /** What {@code optimizer.schedule} may name. */
    public static final String NAMES = "constant, linear or cosine";

    /** What follows the warm-up. */
    public enum Shape { CONSTANT, LINEAR, COSINE }

    public static LearningRate of(OptimizerConfig config, long first, long end) {
        return new LearningRate(config.lr(), shape(config.schedule()), config.warmupSteps(), first, end);
    }

    /** The shape that a configuration names. */
    public static Shape shape(String schedule) {
        return switch (schedule) {
            case "constant" -> Shape.CONSTANT;
            case "linear" -> Shape.LINEAR;
            case "cosine" -> Shape.COSINE;
            default -> throw new ConfigException("optimizer.schedule", schedule, NAMES);
        };
    }

    /** The rate of the update that takes the adapter from {@code step} steps to one more. */
    public double at(long step) {
        long taken = step - first;
        if (taken < warmup) {
            return peak * (taken + 1) / warmup;
        }
        double span = Math.max(1, end - first - warmup);
        double done = Math.clamp((taken - warmup) / span, 0.0, 1.0);
        return peak * switch (shape) {
            case CONSTANT -> 1;
            case LINEAR -> 1 - done;
            case COSINE -> (1 + Math.cos(Math.PI * done)) / 2;
        };
    }
}
