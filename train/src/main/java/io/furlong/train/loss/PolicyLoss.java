package io.furlong.train.loss;

import io.furlong.core.ConfigException;
import io.furlong.core.LossConfig;
import org.bytedeco.pytorch.Tensor;

/** A policy-gradient loss of single tokens, to be minimised. */
public interface PolicyLoss {
    /** The losses that {@code loss.type} may name. */
    String NAMES = "grpo";

    /**
     * The sum over tokens of weight × loss, a scalar that autograd can follow back to {@code tokens.logProb()}.
     * The caller's weights make it the mean it wants.
     */
    Tensor weightedSum(Tokens tokens);

    /** Whether the token's gradient is cut off at this ratio and advantage. */
    boolean clipped(double ratio, double advantage);

    /**
     * Trained tokens, all shapes [N], float32.
     *
     * @param logProb    of the policy that is trained, natural log, at the sample's temperature
     * @param oldLogProb of the policy that sampled, as the engine returned it
     * @param advantage  of the token's sample
     * @param weight     of the token in the sum
     */
    record Tokens(Tensor logProb, Tensor oldLogProb, Tensor advantage, Tensor weight) {}

    /** The loss that a configuration names. */
    static PolicyLoss of(LossConfig config) {
        return switch (config.type()) {
            case "grpo" -> new ClippedRatioLoss(config.clipLow(), config.clipHigh());
            default -> throw new ConfigException("loss.type", config.type(), NAMES);
        };
    }
}
