package io.furlong.train.optim;

import io.furlong.core.OptimizerConfig;
import io.furlong.torch.Owner;
import io.furlong.torch.Scope;
import io.furlong.torch.Torch;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
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
    private final SequencedMap<String, Tensor> parameters;
    private final SequencedMap<String, Moments> moments = new LinkedHashMap<>();
    private long updates;

    /** Running means of the gradient and of its square, shaped as the parameter. */
    public record Moments(Tensor mean, Tensor square) {}

    private record Update(Tensor parameter, Moments moments, Tensor newParameter, Tensor newMean, Tensor newSquare) {}

    /** Starts with zero moments. */
    public AdamW(SequencedMap<String, Tensor> parameters) {
        this.parameters = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(parameters));
        Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                this.parameters.forEach((name, p) -> moments.put(name, new Moments(owner.own(torch.zeros_like(p)), owner.own(torch.zeros_like(p)))));
            }
        });
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
     * One update with these gradients, one a parameter, in parameter order.
     *
     * @return false when a weight would not be finite: then nothing has changed
     */
    public boolean update(List<Tensor> gradients, double lr, OptimizerConfig config) {
        long n = updates + 1;
        double meanCorrection = 1 - Math.pow(config.beta1(), n);
        if (!(lr / meanCorrection <= Float.MAX_VALUE && lr * config.weightDecay() <= Float.MAX_VALUE)) {
            return false;
        }
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                double squareCorrection = Math.sqrt(1 - Math.pow(config.beta2(), n));
                Scalar keep = new Scalar(1 - lr * config.weightDecay());
                Scalar fresh = new Scalar(1 - config.beta1());
                Scalar beta2 = new Scalar(config.beta2());
                Scalar freshSquare = new Scalar(1 - config.beta2());
                Scalar correction = new Scalar(squareCorrection);
                Scalar eps = new Scalar(config.eps());
                Scalar size = new Scalar(-lr / meanCorrection);
                List<Update> all = new ArrayList<>();
                int i = 0;
                for (Map.Entry<String, Tensor> entry : parameters.entrySet()) {
                    Tensor gradient = gradients.get(i++);
                    Moments m = moments.get(entry.getKey());
                    Tensor mean = m.mean().lerp(gradient, fresh);
                    Tensor square = m.square().mul(beta2);
                    square.addcmul_(gradient, gradient, freshSquare);
                    Tensor spread = square.sqrt();
                    spread.div_(correction);
                    spread.add_(eps);
                    Tensor parameter = entry.getValue().mul(keep);
                    parameter.addcdiv_(mean, spread, size);
                    all.add(new Update(entry.getValue(), m, parameter, mean, square));
                }
                if (!Double.isFinite(GradientNorm.of(all.stream().map(Update::newParameter).toList()))) {
                    return false;
                }
                for (Update u : all) {
                    u.parameter().copy_(u.newParameter());
                    u.moments().mean().copy_(u.newMean());
                    u.moments().square().copy_(u.newSquare());
                }
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
