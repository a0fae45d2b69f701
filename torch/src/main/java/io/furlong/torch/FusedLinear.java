package io.furlong.torch;

import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;

/**
 * One or several projections that share their input, as one matrix: query, key and value; gate and up; or a single one.
 *
 * @param layer   the block it belongs to
 * @param parts   which output columns belong to which projection, in order
 * @param weight  shape {@code [out, in]}
 * @param transposed the same memory as {@code [in, out]}, for products that do not record for autograd
 * @param bias    shape {@code [out]}
 * @param biasArg the bias as libtorch takes it
 */
record FusedLinear(int layer, List<Part> parts, Tensor weight, Tensor transposed, Optional<Tensor> bias, TensorOptional biasArg) {

    /** Output columns {@code offset} to {@code offset + size} are {@code projection}'s. */
    record Part(Projection projection, int offset, int size) {}

    int out() {
        return parts.getLast().offset() + parts.getLast().size();
    }
}
