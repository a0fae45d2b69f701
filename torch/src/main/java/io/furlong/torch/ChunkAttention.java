package io.furlong.torch;

import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** Prefill: every chunk's keys and values go into its cache row, then its queries attend to all of the row up to themselves. */
final class ChunkAttention implements Attention {
    private final KvCache cache;
    private final List<Chunk> chunks;
    private final TensorOptional[] masks;
    private final DoubleOptional defaultScale = new DoubleOptional();

    /** Built within the scope of the forward that uses it. */
    ChunkAttention(KvCache cache, List<Chunk> chunks) {
        this.cache = cache;
        this.chunks = chunks;
        masks = new TensorOptional[chunks.size()];
        TensorOptional none = new TensorOptional();
        for (int i = 0; i < masks.length; i++) {
            masks[i] = chunks.get(i).start() == 0 ? none : new TensorOptional(mask(chunks.get(i)));
        }
    }

    @Override
    public Tensor attend(int layer, Tensor q, Tensor k, Tensor v) {
        Tensor[] out = new Tensor[chunks.size()];
        int row = 0;
        for (int i = 0; i < out.length; i++) {
            Chunk chunk = chunks.get(i);
            int n = chunk.tokens().length;
            cache.cellsOf(layer, 0, chunk.row(), chunk.start(), n).copy_(k.narrow(0, row, n));
            cache.cellsOf(layer, 1, chunk.row(), chunk.start(), n).copy_(v.narrow(0, row, n));
            Tensor queries = q.narrow(0, row, n).unsqueeze(0).transpose(1, 2);
            int length = chunk.start() + n;
            out[i] = torch.scaled_dot_product_attention(queries, cache.rowView(layer, 0, chunk.row(), length), cache.rowView(layer, 1, chunk.row(), length),
                    masks[i], 0.0, chunk.start() == 0, defaultScale, q.size(1) != k.size(1)).transpose(1, 2).reshape(n, -1);
            row += n;
        }
        return out.length == 1 ? out[0] : torch.cat(new TensorVector(out), 0);
    }

    /** {@code [n, start + n]}: query i sees keys up to {@code start + i}. */
    private static Tensor mask(Chunk chunk) {
        int n = chunk.tokens().length;
        int length = chunk.start() + n;
        float[] mask = new float[n * length];
        for (int i = 0; i < n; i++) {
            Arrays.fill(mask, i * length + chunk.start() + i + 1, (i + 1) * length, Float.NEGATIVE_INFINITY);
        }
        return Tensor.create(mask, n, length);
    }
}
