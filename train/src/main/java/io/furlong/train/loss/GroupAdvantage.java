package io.furlong.train.loss;

/**
 * GRPO's advantage (arXiv:2402.03300): how much better a sample is than its siblings, in units of the group's own spread.
 * A = (reward − mean) / (std + 1e-6) with the unbiased standard deviation; exactly 0 when all rewards are equal.
 */
public final class GroupAdvantage {
    private static final double EPSILON = 1e-6;

    private GroupAdvantage() {}

    /** Advantages in sample order, shape [n], from rewards, shape [n]. */
    public static float[] of(double[] rewards) {
        float[] advantages = new float[rewards.length];
        double min = Double.POSITIVE_INFINITY;
        double max = Double.NEGATIVE_INFINITY;
        double sum = 0;
        for (double r : rewards) {
            min = Math.min(min, r);
            max = Math.max(max, r);
            sum += r;
        }
        if (min == max) {
            return advantages;
        }
        double mean = sum / rewards.length;
        double squares = 0;
        for (double r : rewards) {
            squares += (r - mean) * (r - mean);
        }
        double spread = Math.sqrt(squares / (rewards.length - 1)) + EPSILON;
        for (int i = 0; i < rewards.length; i++) {
            advantages[i] = (float) ((rewards[i] - mean) / spread);
        }
        return advantages;
    }
}
