package io.furlong.torch;

import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/**
 * Decode: one token for each of the first cache rows. The query heads that share a key head stand on the query axis, since for one token each that is the same
 * attention over fewer, larger products.
 */
final class DecodeAttention implements Attention {
    /** Key lengths are rounded up to multiples of this, so that views of the cache stay valid over several steps. */
    private static final int KEY_STEP = 32;

    private final KvCache cache;
    private final List<KvCache.Window> windows;
    private final Tensor cells;
    private final TensorOptional mask;
    private final DoubleOptional defaultScale = new DoubleOptional();
    private final int rows;

    /** Built within the scope of the forward that uses it; row {@code i} of the batch is cache row {@code i}. */
    DecodeAttention(KvCache cache, int[] positions) {
        this.cache = cache;
        rows = positions.length;
        int longest = Arrays.stream(positions).max().orElse(0) + 1;
        int keys = Math.min(cache.positions(), (longest + KEY_STEP - 1) / KEY_STEP * KEY_STEP);
        windows = cache.windows(rows, keys);
        int[] cell = new int[rows];
        float[] masked = new float[rows * keys];
        for (int i = 0; i < rows; i++) {
            cell[i] = i * cache.positions() + positions[i];
            Arrays.fill(masked, i * keys + positions[i] + 1, (i + 1) * keys, Float.NEGATIVE_INFINITY);
        }
        cells = torch.tensor(cell).to(torch.ScalarType.Long);
        mask = new TensorOptional(Tensor.create(masked, rows, 1, 1, keys));
    }

    @Override
    public Tensor attend(int layer, Tensor q, Tensor k, Tensor v) {
        long kvHeads = k.size(1);
        cache.layer(layer).keys().index_copy_(0, cells, k.reshape(rows, -1));
        cache.layer(layer).values().index_copy_(0, cells, v.reshape(rows, -1));
        KvCache.Window window = windows.get(layer);
        return torch.scaled_dot_product_attention(q.reshape(rows, kvHeads, -1, q.size(2)), window.keys(), window.values(), mask, 0.0, false, defaultScale, false)
                .reshape(rows, -1);
    }
}
