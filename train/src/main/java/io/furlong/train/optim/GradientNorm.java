package io.furlong.train.optim;

import io.furlong.torch.Scope;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The global 2-norm of several tensors, and clipping to it as PyTorch's {@code clip_grad_norm_}. */
public final class GradientNorm {
    /** Keeps the quotient finite, as in PyTorch. */
    private static final double EPSILON = 1e-6;

    private GradientNorm() {}

    /** The 2-norm over all entries, summed in double; not finite exactly when an entry is not. */
    public static double of(List<Tensor> tensors) {
        double squares = 0;
        try (Scope scope = new Scope()) {
            for (Tensor t : tensors) {
                Tensor wide = t.flatten().to(torch.ScalarType.Double);
                squares += torch.dot(wide, wide).item_double();
            }
        }
        return Math.sqrt(squares);
    }

    /** Scales the tensors, whose norm is {@code norm}, down to {@code highest} where they are above it. */
    public static void clip(List<Tensor> tensors, double norm, double highest) {
        double factor = highest / (norm + EPSILON);
        if (factor < 1) {
            try (Scope scope = new Scope()) {
                Scalar by = new Scalar(factor);
                tensors.forEach(t -> t.mul_(by));
            }
        }
    }
}
