package io.furlong.torch;

import java.util.Arrays;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention of the deterministic setting: each row of a tile alone, over a key length that depends on its position only. All keys of the tile are stored first, so
 * that successive tokens of one sequence may share a tile.
 */
final class TileAttention implements Attention {
    private final KvCache cache;
    private final int[] rows;
    private final int[] positions;
    private final TensorOptional[] masks;
    private final DoubleOptional defaultScale = new DoubleOptional();

    /** Built within the scope of the forward that uses it; entries beyond {@code rows} only fill the tile up. */
    TileAttention(KvCache cache, int[] rows, int[] positions) {
        this.cache = cache;
        this.rows = rows;
        this.positions = positions;
        masks = new TensorOptional[rows.length];
        for (int i = 0; i < masks.length; i++) {
            float[] mask = new float[KvCache.blocks(positions[i] + 1)];
            Arrays.fill(mask, positions[i] + 1, mask.length, Float.NEGATIVE_INFINITY);
            masks[i] = new TensorOptional(Tensor.create(mask, 1, 1, 1, mask.length));
        }
    }

    @Override
    public Tensor attend(int layer, Tensor q, Tensor k, Tensor v) {
        for (int i = 0; i < rows.length; i++) {
            cache.cellsOf(layer, 0, rows[i], positions[i], 1).copy_(k.narrow(0, i, 1));
            cache.cellsOf(layer, 1, rows[i], positions[i], 1).copy_(v.narrow(0, i, 1));
        }
        long kvHeads = k.size(1);
        Tensor[] out = new Tensor[Decoder.TILE];
        for (int i = 0; i < rows.length; i++) {
            int keys = KvCache.blocks(positions[i] + 1);
            out[i] = torch.scaled_dot_product_attention(q.narrow(0, i, 1).reshape(1, kvHeads, -1, q.size(2)), cache.rowView(layer, 0, rows[i], keys),
                    cache.rowView(layer, 1, rows[i], keys), masks[i], 0.0, false, defaultScale, false).reshape(1, -1);
        }
        for (int i = rows.length; i < out.length; i++) {
            out[i] = torch.zeros(1, q.size(1) * q.size(2));
        }
        return torch.cat(new TensorVector(out), 0);
    }
}
