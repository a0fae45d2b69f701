package io.furlong.torch;

import io.furlong.torch.FusedLinear.Part;
import io.furlong.torch.LoraWeights.Pair;
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
    record Segment(long rows, Optional<LoraWeights> lora) {
        Optional<Pair> pair(FusedLinear linear, Part part) {
            return lora.flatMap(l -> l.pair(linear.layer(), part.projection()));
        }
    }

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
    public Tensor[] apply(FusedLinear linear, Tensor x) {
        Tensor y = torch.linear(x, linear.weight(), linear.biasArg());
        if (!recording) {
            addInPlace(y, linear, x);
        }
        Tensor[] parts = linear.split(y);
        return recording && adapted ? updated(parts, linear, x) : parts;
    }

    @Override
    public Tensor addTo(Tensor residual, FusedLinear linear, Tensor x) {
        if (recording) {
            return residual.add(apply(linear, x)[0]);
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
                Optional<Pair> pair = segment.pair(linear, part);
                if (pair.isPresent()) {
                    Tensor inner = torch.linear(x.narrow(0, row, segment.rows()), pair.get().a());
                    y.narrow(0, row, segment.rows()).narrow(1, part.offset(), part.size())
                            .addmm_(inner, pair.get().transposedB(), one, pair.get().scalingArg());
                }
            }
            row += segment.rows();
        }
    }

    /** The same without touching anything that autograd may need. */
    private Tensor[] updated(Tensor[] parts, FusedLinear linear, Tensor x) {
        if (segments.size() == 1) {
            return updated(parts, linear, x, segments.getFirst());
        }
        long[] rows = segments.stream().mapToLong(Segment::rows).toArray();
        TensorVector inputs = x.split(rows, 0);
        TensorVector[] outputs = new TensorVector[parts.length];
        TensorVector[] bases = new TensorVector[parts.length];
        for (int p = 0; p < parts.length; p++) {
            outputs[p] = new TensorVector();
            bases[p] = parts[p].split(rows, 0);
        }
        for (int s = 0; s < rows.length; s++) {
            Tensor[] own = new Tensor[parts.length];
            for (int p = 0; p < parts.length; p++) {
                own[p] = bases[p].get(s);
            }
            Tensor[] changed = updated(own, linear, inputs.get(s), segments.get(s));
            for (int p = 0; p < parts.length; p++) {
                outputs[p].push_back(changed[p]);
            }
        }
        Tensor[] whole = new Tensor[parts.length];
        for (int p = 0; p < parts.length; p++) {
            whole[p] = torch.cat(outputs[p], 0);
        }
        return whole;
    }

    /** One segment: all A that share the input as one product. */
    private Tensor[] updated(Tensor[] parts, FusedLinear linear, Tensor x, Segment segment) {
        List<Pair> pairs = linear.parts().stream().map(part -> segment.pair(linear, part)).flatMap(Optional::stream).toList();
        if (pairs.isEmpty()) {
            return parts;
        }
        Tensor down = pairs.size() == 1 ? pairs.getFirst().a() : torch.cat(new TensorVector(pairs.stream().map(Pair::a).toArray(Tensor[]::new)), 0);
        Tensor inner = torch.linear(x, down);
        Tensor[] out = parts.clone();
        long column = 0;
        for (int p = 0; p < parts.length; p++) {
            Optional<Pair> pair = segment.pair(linear, linear.parts().get(p));
            if (pair.isPresent()) {
                Tensor own = pairs.size() == 1 ? inner : inner.narrow(1, column, pair.get().rank());
                out[p] = torch.addmm(parts[p], own, pair.get().b().t(), one, pair.get().scalingArg());
                column += pair.get().rank();
            }
        }
        return out;
    }
}
