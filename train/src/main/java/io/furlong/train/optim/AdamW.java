package io.furlong.train.optim;

import io.furlong.core.OptimizerConfig;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Owner;
import io.furlong.torch.Scope;
import io.furlong.torch.Torch;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * AdamW (arXiv:1711.05101) over one adapter's parameters, operation for operation as PyTorch's {@code torch.optim.AdamW} on CPU.
 *
 * <p>Owns the moments and the count of updates; writes the parameters, which are its maker's. An update happens to all parameters or,
 * when a weight would not be finite, to none. Used on the trainer's thread only.
 */
public final class AdamW implements AutoCloseable {
    private final Owner owner = new Owner();
    private final Tensor weights;
    private final Tensor mean;
    private final Tensor square;
    /** Views of mean and square. */
    private final SequencedMap<String, Moments> moments = new LinkedHashMap<>();
    private long updates;

    /** Running means of the gradient and of its square, shaped as the parameter. */
    public record Moments(Tensor mean, Tensor square) {}

    /** Starts with zero moments. */
    public AdamW(LoraWeights adapter) {
        weights = adapter.flat();
        try (Scope scope = new Scope()) {
            mean = owner.own(torch.zeros_like(weights));
            square = owner.own(torch.zeros_like(weights));
            long at = 0;
            for (Map.Entry<String, Tensor> entry : adapter.parameters().entrySet()) {
                Tensor p = entry.getValue();
                moments.put(entry.getKey(), new Moments(owner.own(mean.narrow(0, at, p.numel()).view(p.shape())), owner.own(square.narrow(0, at, p.numel()).view(p.shape()))));
                at += p.numel();
            }
        }
    }

    /** Puts saved state in place; the tensors are copied. */
    public void restore(long savedUpdates, Map<String, Moments> saved) {
        Torch.noGrad(() -> moments.forEach((name, m) -> {
            m.mean().copy_(saved.get(name).mean());
            m.square().copy_(saved.get(name).square());
        }));
        updates = savedUpdates;
    }

    /** Updates taken. */
    public long updates() {
        return updates;
    }

    /** Moments by parameter name, in parameter order; the live tensors, to be read only. */
    public SequencedMap<String, Moments> moments() {
        return Collections.unmodifiableSequencedMap(moments);
    }

    /**
     * One update.
     *
     * @param gradient in the order of {@link LoraWeights#flat}
     * @return false when a weight would not be finite: then nothing has changed
     */
    public boolean update(Tensor gradient, double lr, OptimizerConfig config) {
        long n = updates + 1;
        double meanCorrection = 1 - Math.pow(config.beta1(), n);
        if (!(lr / meanCorrection <= Float.MAX_VALUE && lr * config.weightDecay() <= Float.MAX_VALUE)) {
            return false;
        }
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                double squareCorrection = Math.sqrt(1 - Math.pow(config.beta2(), n));
                Tensor newMean = mean.lerp(gradient, new Scalar(1 - config.beta1()));
                Tensor newSquare = square.mul(new Scalar(config.beta2()));
                newSquare.addcmul_(gradient, gradient, new Scalar(1 - config.beta2()));
                Tensor spread = newSquare.sqrt();
                spread.div_(new Scalar(squareCorrection));
                spread.add_(new Scalar(config.eps()));
                Tensor newWeights = weights.mul(new Scalar(1 - lr * config.weightDecay()));
                newWeights.addcdiv_(newMean, spread, new Scalar(-lr / meanCorrection));
                if (!Double.isFinite(GradientNorm.of(newWeights))) {
                    return false;
                }
                weights.copy_(newWeights);
                mean.copy_(newMean);
                square.copy_(newSquare);
                updates = n;
                return true;
            }
        });
    }

    /** Frees the moments. */
    @Override
    public void close() {
        owner.close();
    }
}
