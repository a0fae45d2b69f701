package io.furlong.torch;

import io.furlong.torch.FusedLinear.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Rows lie in contiguous segments of one adapter each; every segment is a dense product with that adapter's own A and B. Ranks may differ; autograd
 * reaches each adapter's tensors and no others. Where nothing is recorded, updates are added in place. Built within the scope of the forward that uses it.
 */
final class SegmentAdapters implements Adapters {
    private final List<Segment> segments;
    private final boolean adapted;
    private final boolean recording = GradMode.is_enabled();
    private final Scalar one = new Scalar(1.0);

    /** {@code rows} successive rows under {@code lora}. */
    record Segment(long rows, Optional<LoraWeights> lora) {}

    private SegmentAdapters(List<Segment> segments) {
        this.segments = segments;
        this.adapted = segments.stream().anyMatch(s -> s.lora().isPresent());
    }

    /** Merges neighbours under the same adapter. */
    static SegmentAdapters of(List<Segment> runs) {
        List<Segment> merged = new ArrayList<>();
        for (Segment run : runs) {
            if (!merged.isEmpty() && merged.getLast().lora().equals(run.lora())) {
                merged.add(new Segment(merged.removeLast().rows() + run.rows(), run.lora()));
            } else {
                merged.add(run);
            }
        }
        return new SegmentAdapters(List.copyOf(merged));
    }

    static SegmentAdapters ofSequences(List<Sequence> batch) {
        return of(batch.stream().map(s -> new Segment(s.tokens().length, s.lora())).toList());
    }

    @Override
    public Tensor apply(FusedLinear linear, Tensor x) {
        Tensor y = torch.linear(x, linear.weight(), linear.biasArg());
        if (!adapted) {
            return y;
        }
        if (!recording) {
            addInPlace(y, linear, x);
            return y;
        }
        return y.add(update(linear, x));
    }

    @Override
    public Tensor addTo(Tensor residual, FusedLinear linear, Tensor x) {
        if (recording) {
            return residual.add(apply(linear, x));
        }
        residual.addmm_(x, linear.transposed());
        linear.bias().ifPresent(residual::add_);
        addInPlace(residual, linear, x);
        return residual;
    }

    private void addInPlace(Tensor y, FusedLinear linear, Tensor x) {
        long row = 0;
        for (Segment segment : segments) {
            for (Part part : linear.parts()) {
                Optional<LoraWeights.Pair> pair = segment.lora().flatMap(lora -> lora.pair(linear.layer(), part.projection()));
                if (pair.isPresent()) {
                    Tensor inner = torch.linear(x.narrow(0, row, segment.rows()), pair.get().a());
                    y.narrow(0, row, segment.rows()).narrow(1, part.offset(), part.size())
                            .addmm_(inner, pair.get().transposedB(), one, pair.get().scalingArg());
                }
            }
            row += segment.rows();
        }
    }

    /** The same without touching {@code y}, for autograd. */
    private Tensor update(FusedLinear linear, Tensor x) {
        if (segments.size() == 1) {
            return update(linear, x, segments.getFirst());
        }
        Tensor[] updates = new Tensor[segments.size()];
        long row = 0;
        for (int i = 0; i < updates.length; i++) {
            Segment segment = segments.get(i);
            updates[i] = update(linear, x.narrow(0, row, segment.rows()), segment);
            row += segment.rows();
        }
        return torch.cat(new TensorVector(updates), 0);
    }

    private static Tensor update(FusedLinear linear, Tensor x, Segment segment) {
        Tensor[] updates = new Tensor[linear.parts().size()];
        for (int i = 0; i < updates.length; i++) {
            Part part = linear.parts().get(i);
            Optional<LoraWeights.Pair> pair = segment.lora().flatMap(lora -> lora.pair(linear.layer(), part.projection()));
            updates[i] = pair.map(p -> torch.linear(torch.linear(x, p.a()).mul(p.scalingArg()), p.b()))
                    .orElseGet(() -> torch.zeros(segment.rows(), part.size()));
        }
        return updates.length == 1 ? updates[0] : torch.cat(new TensorVector(updates), 1);
    }
}
