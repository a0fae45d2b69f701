package io.furlong.torch;

import org.bytedeco.pytorch.Tensor;

/** How the rows of one forward get the updates of their adapters. */
interface Adapters {

    /** {@code x W^T + b} plus each row's update; {@code x} has shape {@code [rows, in]}. */
    Tensor apply(FusedLinear linear, Tensor x);

    /** {@code residual} plus {@link #apply}; an implementation for inference may add in place. */
    Tensor addTo(Tensor residual, FusedLinear linear, Tensor x);
}
