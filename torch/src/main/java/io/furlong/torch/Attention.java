package io.furlong.torch;

import org.bytedeco.pytorch.Tensor;

/** Causal self-attention of the rows of one forward, each within its own sequence. */
interface Attention {

    /**
     * @param layer the block
     * @param q     {@code [rows, heads, headDim]}, turned
     * @param k     {@code [rows, kvHeads, headDim]}, turned
     * @param v     {@code [rows, kvHeads, headDim]}
     * @return {@code [rows, heads * headDim]}
     */
    Tensor attend(int layer, Tensor q, Tensor k, Tensor v);
}
