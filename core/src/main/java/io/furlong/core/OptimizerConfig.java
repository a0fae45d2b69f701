package io.furlong.core;

/**
 * @param type        {@code adamw}
 * @param lr          peak learning rate
 * @param schedule    {@code constant}, {@code linear} or {@code cosine} down to 0 at the adapter's last step
 * @param warmupSteps steps of linear warm-up
 * @param maxGradNorm gradients are scaled down to this global norm
 */
public record OptimizerConfig(String type, double lr, String schedule, int warmupSteps, double beta1, double beta2, double eps,
                              double weightDecay, double maxGradNorm) {
    public static final OptimizerConfig DEFAULT = new OptimizerConfig("adamw", 1e-3, "constant", 0, 0.9, 0.95, 1e-8, 0.01, 1.0);

    public OptimizerConfig {
        Check.field("optimizer.lr", lr, Double.isFinite(lr) && lr > 0, "a finite number above 0");
        Check.field("optimizer.warmup_steps", warmupSteps, warmupSteps >= 0, "≥ 0");
        Check.field("optimizer.beta1", beta1, beta1 >= 0 && beta1 < 1, "from 0 to below 1");
        Check.field("optimizer.beta2", beta2, beta2 >= 0 && beta2 < 1, "from 0 to below 1");
        Check.field("optimizer.eps", eps, Double.isFinite(eps) && eps > 0, "a finite number above 0");
        Check.field("optimizer.weight_decay", weightDecay, Double.isFinite(weightDecay) && weightDecay >= 0, "a finite number ≥ 0");
        Check.field("optimizer.max_grad_norm", maxGradNorm, maxGradNorm > 0, "above 0");
    }

    public OptimizerConfig withLr(double value) {
        return new OptimizerConfig(type, value, schedule, warmupSteps, beta1, beta2, eps, weightDecay, maxGradNorm);
    }
}
