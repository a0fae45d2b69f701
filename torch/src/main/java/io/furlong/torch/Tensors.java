package io.furlong.torch;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Tensors to Java arrays. */
public final class Tensors {
    private Tensors() {}

    /** All entries of a float32 tensor, in row-major order. */
    public static float[] floats(Tensor tensor) {
        if (tensor.scalar_type().intern() != ScalarType.Float) {
            throw new IllegalArgumentException("tensor has type " + tensor.scalar_type() + ", must be float32");
        }
        try (Scope scope = new Scope()) {
            return memory(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
        }
    }

    /** All entries of an int64 tensor, in row-major order. */
    public static long[] longs(Tensor tensor) {
        if (tensor.scalar_type().intern() != ScalarType.Long) {
            throw new IllegalArgumentException("tensor has type " + tensor.scalar_type() + ", must be int64");
        }
        try (Scope scope = new Scope()) {
            return memory(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_LONG_UNALIGNED);
        }
    }

    /** The memory of a contiguous tensor; valid only while the tensor lives. */
    static MemorySegment memory(Tensor contiguous) {
        return MemorySegment.ofAddress(contiguous.data_ptr().address()).reinterpret(contiguous.nbytes());
    }
}
