package io.furlong.torch;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Rotary position embedding of queries and keys (arXiv:2104.09864), halves convention of Hugging Face.
 *
 * <p>{@code rotate(x) = x * cos + swap(x) * sin}, where swap exchanges the two halves of a head and the sine of the first half is negated in the table.
 * The table grows with the largest position asked for. Owned by one thread.
 */
final class RotaryTable implements AutoCloseable {
    private static final long[] LAST = {-1};

    private final float[] frequencies;
    private final float scale;
    private final int headDim;
    private final int contextLength;
    private final long[] half;
    private Owner owner = new Owner();
    private int positions;
    private Tensor cos;
    private Tensor sin;

    /** Cosines and sines of some rows, each {@code [rows, 1, headDim]}. */
    record Angles(Tensor cos, Tensor sin) {}

    RotaryTable(ModelConfig config) {
        headDim = config.headDim();
        frequencies = config.rope().frequencies(headDim);
        scale = (float) config.rope().attentionFactor();
        contextLength = config.contextLength();
        half = new long[] {headDim / 2};
        positions = 0;
        cos = torch.zeros(0);
        sin = torch.zeros(0);
    }

    /** Angles of the given absolute positions. */
    Angles at(int[] rowPositions) {
        int largest = 0;
        for (int p : rowPositions) {
            largest = Math.max(largest, p);
        }
        if (largest >= contextLength) {
            throw new IllegalArgumentException("position " + largest + " is beyond the model's context of " + contextLength + " tokens");
        }
        if (largest >= positions) {
            grow(Math.min(contextLength, Math.max(256, Integer.highestOneBit(largest) * 2)));
        }
        Tensor index = torch.tensor(rowPositions);
        return new Angles(cos.index_select(0, index), sin.index_select(0, index));
    }

    /** Turns {@code x}, shape {@code [rows, heads, headDim]}. */
    Tensor rotate(Tensor x, Angles angles) {
        return torch.addcmul(x.mul(angles.cos()), torch.roll(x, half, LAST), angles.sin());
    }

    private void grow(int to) {
        float[] cosines = new float[to * headDim];
        float[] sines = new float[to * headDim];
        int pairs = headDim / 2;
        for (int p = 0; p < to; p++) {
            for (int i = 0; i < pairs; i++) {
                float angle = p * frequencies[i];
                int first = p * headDim + i;
                cosines[first] = cosines[first + pairs] = (float) Math.cos(angle) * scale;
                sines[first + pairs] = (float) Math.sin(angle) * scale;
                sines[first] = -sines[first + pairs];
            }
        }
        Owner next = new Owner();
        try (Scope scope = new Scope()) {
            cos = next.own(Tensor.create(cosines, to, 1, headDim));
            sin = next.own(Tensor.create(sines, to, 1, headDim));
        }
        owner.close();
        owner = next;
        positions = to;
    }

    @Override
    public void close() {
        owner.close();
    }
}
