package io.furlong.torch;

import org.bytedeco.pytorch.Tensor;

/** How the rows of one forward get the updates of their adapters. */
interface Adapters {

    /** {@code x W^T + b} plus each row's update, one tensor {@code [rows, size]} for each part of {@code linear}; {@code x} has shape {@code [rows, in]}. */
    Tensor[] apply(FusedLinear linear, Tensor x);

    /** {@code residual} plus what {@link #apply} gives for a linear of one part; where nothing is recorded for autograd, {@code residual} itself may be changed and returned. */
    Tensor addTo(Tensor residual, FusedLinear linear, Tensor x);
}
