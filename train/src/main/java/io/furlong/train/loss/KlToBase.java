package io.furlong.train.loss;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * The k3 estimate of KL(policy ‖ base) from tokens that the policy sampled: exp(d) − 1 − d with d = base − policy log-prob.
 * Unbiased, never negative, of low variance (Schulman, "Approximating KL divergence", 2020; used by GRPO, arXiv:2402.03300).
 */
public final class KlToBase {
    private KlToBase() {}

    /** The sum over tokens of weight × k3, a scalar that autograd can follow back to {@code logProb}; all shapes [N]. */
    public static Tensor weightedSum(Tensor logProb, Tensor baseLogProb, Tensor weight) {
        Tensor d = baseLogProb.sub(logProb);
        return d.exp().sub(new Scalar(1.0)).sub(d).mul(weight).sum();
    }

    /** k3 of one token. */
    public static double of(double logProb, double baseLogProb) {
        double d = baseLogProb - logProb;
        return Math.expm1(d) - d;
    }
}
