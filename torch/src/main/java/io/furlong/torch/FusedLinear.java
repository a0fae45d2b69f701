package io.furlong.torch;

import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;

/**
 * One or several projections that share their input, as one matrix: query, key and value; gate and up; or a single one.
 *
 * @param layer   the block it belongs to
 * @param parts   which output columns belong to which projection, in order
 * @param sizes   their widths
 * @param weight  shape {@code [out, in]}
 * @param transposed the same memory as {@code [in, out]}, for products that do not record for autograd
 * @param bias    shape {@code [out]}
 * @param biasArg the bias as libtorch takes it
 */
record FusedLinear(int layer, List<Part> parts, long[] sizes, Tensor weight, Tensor transposed, Optional<Tensor> bias, TensorOptional biasArg) {

    /** Output columns {@code offset} to {@code offset + size} are {@code projection}'s. */
    record Part(Projection projection, int offset, int size) {}

    /** Views of the parts' columns of {@code y}, {@code [rows, out]}. */
    Tensor[] split(Tensor y) {
        if (parts.size() == 1) {
            return new Tensor[] {y};
        }
        TensorVector views = y.split_with_sizes(sizes, 1);
        Tensor[] out = new Tensor[sizes.length];
        for (int i = 0; i < out.length; i++) {
            out[i] = views.get(i);
        }
        return out;
    }

    int out() {
        return parts.getLast().offset() + parts.getLast().size();
    }
}
