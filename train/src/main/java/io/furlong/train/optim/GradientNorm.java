package io.furlong.train.optim;

import io.furlong.torch.Scope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The 2-norm of a gradient, and clipping to it as PyTorch's {@code clip_grad_norm_}. */
public final class GradientNorm {
    /** Keeps the quotient finite, as in PyTorch. */
    private static final double EPSILON = 1e-6;

    private GradientNorm() {}

    /** The 2-norm over all entries of {@code [n]}, summed in double; not finite exactly when an entry is not. */
    public static double of(Tensor gradient) {
        try (Scope scope = new Scope()) {
            Tensor wide = gradient.to(torch.ScalarType.Double);
            return Math.sqrt(torch.dot(wide, wide).item_double());
        }
    }

    /** Scales a gradient whose norm is {@code norm} down to {@code highest} if it is above it. */
    public static void clip(Tensor gradient, double norm, double highest) {
        double factor = highest / (norm + EPSILON);
        if (factor < 1) {
            try (Scope scope = new Scope()) {
                gradient.mul_(new Scalar(factor));
            }
        }
    }
}
