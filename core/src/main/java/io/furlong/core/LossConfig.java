package io.furlong.core;

/**
 * @param type     {@code grpo}: the clipped policy gradient with group-relative advantages
 * @param clipLow  ratio is clipped below at 1 − clipLow
 * @param clipHigh ratio is clipped above at 1 + clipHigh
 * @param kl       weight of the k3 estimate of KL(policy ‖ base) in the loss; 0 means none
 */
public record LossConfig(String type, double clipLow, double clipHigh, double kl) {
    public static final LossConfig DEFAULT = new LossConfig("grpo", 0.2, 0.28, 0);

    public LossConfig {
        Check.field("loss.clip_low", clipLow, clipLow > 0 && clipLow < 1, "above 0 and below 1");
        Check.field("loss.clip_high", clipHigh, clipHigh > 0 && Double.isFinite(clipHigh), "a finite number above 0");
        Check.field("loss.kl", kl, kl >= 0 && Double.isFinite(kl), "a finite number ≥ 0");
    }
}
