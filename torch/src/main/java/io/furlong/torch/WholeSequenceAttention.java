package io.furlong.torch;

import java.util.List;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention over whole sequences laid end to end, as in training and scoring. Everything else in the decoder works on packed rows; only here are sequences of
 * different lengths brought to one length, by gathering, and back. A padded query sees and changes nothing that is kept.
 */
final class WholeSequenceAttention implements Attention {
    private final int sequences;
    private final int longest;
    private final boolean padded;
    private final Tensor pad;
    private final Tensor unpad;
    private final TensorOptional noMask = new TensorOptional();
    private final DoubleOptional defaultScale = new DoubleOptional();

    /** Built within the scope of the forward that uses it. */
    WholeSequenceAttention(List<Sequence> batch) {
        sequences = batch.size();
        longest = batch.stream().mapToInt(s -> s.tokens().length).max().orElse(0);
        int rows = Sequence.rows(batch);
        padded = rows != sequences * longest;
        int[] fromPacked = new int[padded ? sequences * longest : 0];
        int[] fromPadded = new int[padded ? rows : 0];
        int row = 0;
        for (int s = 0; padded && s < sequences; s++) {
            for (int t = 0; t < batch.get(s).tokens().length; t++, row++) {
                fromPacked[s * longest + t] = row;
                fromPadded[row] = s * longest + t;
            }
        }
        pad = torch.tensor(fromPacked);
        unpad = torch.tensor(fromPadded);
    }

    @Override
    public Tensor attend(int layer, Tensor q, Tensor k, Tensor v) {
        Tensor out = torch.scaled_dot_product_attention(bySequence(q), bySequence(k), bySequence(v), noMask, 0.0, true, defaultScale, q.size(1) != k.size(1))
                .transpose(1, 2).reshape((long) sequences * longest, -1);
        return padded ? out.index_select(0, unpad) : out;
    }

    /** {@code [rows, heads, headDim]} to {@code [sequences, heads, longest, headDim]}. */
    private Tensor bySequence(Tensor x) {
        Tensor whole = padded ? x.index_select(0, pad) : x;
        return whole.reshape(sequences, longest, x.size(1), x.size(2)).transpose(1, 2);
    }
}
