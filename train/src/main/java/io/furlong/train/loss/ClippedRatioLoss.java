package io.furlong.train.loss;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The clipped policy gradient of PPO (arXiv:1707.06347, equation 7) with a range of its own on each side (DAPO, arXiv:2503.14476,
 * "clip-higher"), as GRPO uses it per token: −min(ratio · A, clip(ratio, 1 − low, 1 + high) · A), ratio = exp(logp − old_logp).
 */
final class ClippedRatioLoss implements PolicyLoss {
    private final double lowest;
    private final double highest;

    ClippedRatioLoss(double clipLow, double clipHigh) {
        lowest = 1 - clipLow;
        highest = 1 + clipHigh;
    }

    @Override
    public Tensor weightedSum(Tokens t) {
        Tensor ratio = t.logProb().sub(t.oldLogProb()).exp();
        Tensor within = torch.clamp(ratio, new ScalarOptional(new Scalar(lowest)), new ScalarOptional(new Scalar(highest)));
        Tensor gain = torch.minimum(ratio.mul(t.advantage()), within.mul(t.advantage()));
        return gain.mul(t.weight()).sum().neg();
    }

    @Override
    public boolean clipped(double ratio, double advantage) {
        return advantage > 0 && ratio > highest || advantage < 0 && ratio < lowest;
    }
}
