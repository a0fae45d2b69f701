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

    private final boolean reordered;
    private final Tensor placeOfRow;
    private final Tensor rowAtPlace;

    /**
     * Built within the scope of the forward that uses it.
     *
     * @param positions by cache row
     * @param order     the cache row at each place of the batch; each row stands at least once
     */
    DecodeAttention(KvCache cache, int[] positions, int[] order) {
        this.cache = cache;
        rows = positions.length;
        int longest = Arrays.stream(positions).max().orElse(0) + 1;
        int keys = Math.min(cache.positions(), (longest + KEY_STEP - 1) / KEY_STEP * KEY_STEP);
        windows = cache.windows(rows, keys);
        float[] masked = new float[rows * keys];
        for (int i = 0; i < rows; i++) {
            Arrays.fill(masked, i * keys + positions[i] + 1, (i + 1) * keys, Float.NEGATIVE_INFINITY);
        }
        mask = new TensorOptional(Tensor.create(masked, rows, 1, 1, keys));
        int[] cell = new int[order.length];
        for (int i = 0; i < cell.length; i++) {
            cell[i] = order[i] * cache.positions() + positions[order[i]];
        }
        cells = torch.tensor(cell).to(torch.ScalarType.Long);
        reordered = !RowGroups.isIdentity(order);
        placeOfRow = torch.tensor(RowGroups.places(order, rows));
        rowAtPlace = torch.tensor(order);
    }

    @Override
    public Tensor attend(int layer, Tensor q, Tensor k, Tensor v) {
        long kvHeads = k.size(1);
        cache.layer(layer).keys().index_copy_(0, cells, k.flatten(1, 2));
        cache.layer(layer).values().index_copy_(0, cells, v.flatten(1, 2));
        KvCache.Window window = windows.get(layer);
        Tensor queries = reordered ? q.index_select(0, placeOfRow) : q;
        Tensor out = torch.scaled_dot_product_attention(queries.view(rows, kvHeads, -1, q.size(2)), window.keys(), window.values(), mask, 0.0, false, defaultScale, false)
                .reshape(rows, -1);
        return reordered ? out.index_select(0, rowAtPlace) : out;
    }
}
