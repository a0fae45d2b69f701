package io.furlong.torch;

import org.bytedeco.pytorch.Tensor;

/** Keys and values of the first tokens of a sequence, copied out of a {@link KvCache}: immutable, loadable into any row, any number of times. */
public final class KvPrefix implements AutoCloseable {
    private final Owner owner = new Owner();
    private final Tensor data;
    private final int length;

    /** Takes {@code data}, shape {@code [layers, 2, length, kvHeads, headDim]}. */
    KvPrefix(Tensor data) {
        this.data = owner.own(data);
        this.length = (int) data.size(2);
    }

    /** Tokens it holds. */
    public int length() {
        return length;
    }

    /** Memory it takes. */
    public long bytes() {
        return data.nbytes();
    }

    Tensor first(int tokens) {
        return data.narrow(2, 0, tokens);
    }

    /** Frees the memory. */
    @Override
    public void close() {
        owner.close();
    }
}
