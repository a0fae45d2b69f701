package io.furlong.torch;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Keys and values of the sequences being served: one tensor {@code [layers, 2, rows, positions, kvHeads, headDim]}, float32.
 *
 * <p>A row belongs to one sequence, positions from 0 on. Rows and positions grow as they are first used; {@link #bytes()} says what that has come to, {@link #clear} gives it back.
 * Decoding works on rows {@code 0 .. n-1}, so who ends a sequence moves the last row into its place ({@link #copy}). Owned by one thread.
 */
public final class KvCache implements AutoCloseable {
    /** Positions are added in multiples of this. */
    static final int BLOCK = 64;

    private final ModelConfig config;
    private Owner owner = new Owner();
    private Owner viewOwner = new Owner();
    private Tensor data;
    private List<LayerRows> layerRows = List.of();
    private List<Window> windows = List.of();
    private int windowRows;
    private int windowPositions;
    private int rows;
    private int positions;

    /** All cells of a layer as {@code [rows * positions, kvHeads * headDim]}. */
    record LayerRows(Tensor keys, Tensor values) {}

    /** The first rows and positions of a layer as attention reads them: {@code [rows, kvHeads, positions, headDim]}. */
    record Window(Tensor keys, Tensor values) {}

    public KvCache(ModelConfig config) {
        this.config = config;
        try (Scope scope = new Scope()) {
            data = owner.own(torch.zeros(0));
        }
    }

    /** Memory that one token of one sequence takes. */
    public static long bytesPerToken(ModelConfig config) {
        return 2L * config.layers() * config.kvHeads() * config.headDim() * Float.BYTES;
    }

    /** Memory held now. */
    public long bytes() {
        return rows * (long) positions * bytesPerToken(config);
    }

    /** Copies the first {@code length} tokens of a row out; the caller closes the result. */
    public KvPrefix prefix(int row, int length) {
        check(row, length);
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                Tensor copy = torch.zeros(config.layers(), 2, length, config.kvHeads(), config.headDim());
                copy.copy_(cells(row, length));
                return new KvPrefix(copy);
            }
        });
    }

    /** Makes the first {@code length} tokens of {@code prefix} the beginning of {@code row}. */
    public void load(KvPrefix prefix, int length, int row) {
        if (length > prefix.length()) {
            throw new IllegalArgumentException("prefix has " + prefix.length() + " tokens, asked for " + length);
        }
        reserve(row + 1, length);
        Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                cells(row, length).copy_(prefix.first(length));
            }
        });
    }

    /** Makes the first {@code length} tokens of row {@code from} the beginning of row {@code to}. */
    public void copy(int from, int to, int length) {
        check(from, length);
        reserve(to + 1, length);
        Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                cells(to, length).copy_(cells(from, length));
            }
        });
    }

    /**
     * Sets to 0 every cell that is not a finite number. Attention runs over padded rows: weight 0 times a cell that an earlier sequence left
     * behind is 0 only if that cell is a number. Finite cells keep their bits.
     */
    public void scrub() {
        Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                DoubleOptional zero = new DoubleOptional(0);
                data.nan_to_num_(zero, zero, zero);
            }
        });
    }

    /** Frees all memory; every row is empty afterwards. */
    public void clear() {
        rows = 0;
        positions = 0;
        try (Scope scope = new Scope()) {
            replace(torch.zeros(0));
        }
    }

    /** Frees all memory. */
    @Override
    public void close() {
        viewOwner.close();
        owner.close();
    }

    /** Makes room for {@code needRows} rows of {@code needPositions} positions. */
    void reserve(int needRows, int needPositions) {
        if (needRows <= rows && needPositions <= positions) {
            return;
        }
        if (needPositions > config.contextLength()) {
            throw new IllegalArgumentException("position " + (needPositions - 1) + " is beyond the model's context of " + config.contextLength() + " tokens");
        }
        int newRows = needRows <= rows ? rows : Math.max(needRows, rows + rows / 2);
        int longest = blocks(config.contextLength());
        int newPositions = needPositions <= positions ? positions : Math.min(longest, Math.max(blocks(needPositions), blocks(positions + positions / 2)));
        try (Scope scope = new Scope()) {
            // Zeros, since attention multiplies cells that it masks, and nothing times NaN is nothing.
            Tensor grown = torch.zeros(config.layers(), 2, newRows, newPositions, config.kvHeads(), config.headDim());
            if (rows > 0 && positions > 0) {
                grown.narrow(2, 0, rows).narrow(3, 0, positions).copy_(data);
            }
            rows = newRows;
            positions = newPositions;
            replace(grown);
        }
    }

    int positions() {
        return positions;
    }

    LayerRows layer(int layer) {
        return layerRows.get(layer);
    }

    /** A new view of one row, first {@code length} positions: keys ({@code part 0}) or values ({@code part 1}), {@code [1, kvHeads, length, headDim]}. */
    Tensor rowView(int layer, int part, int row, int length) {
        return data.select(0, layer).select(0, part).narrow(0, row, 1).narrow(1, 0, length).transpose(1, 2);
    }

    /** The cells of one row, {@code [length, kvHeads, headDim]} from {@code start} on. */
    Tensor cellsOf(int layer, int part, int row, int start, int length) {
        return data.select(0, layer).select(0, part).select(0, row).narrow(0, start, length);
    }

    /** Views of the first rows and positions of every layer, kept until other ones are asked for. */
    List<Window> windows(int forRows, int forPositions) {
        if (forRows != windowRows || forPositions != windowPositions) {
            Owner next = new Owner();
            try (Scope scope = new Scope()) {
                List<Window> made = new ArrayList<>();
                for (int layer = 0; layer < config.layers(); layer++) {
                    made.add(new Window(next.own(window(layer, 0, forRows, forPositions)), next.own(window(layer, 1, forRows, forPositions))));
                }
                windows = made;
            }
            viewOwner.close();
            viewOwner = next;
            windowRows = forRows;
            windowPositions = forPositions;
        }
        return windows;
    }

    static int blocks(int length) {
        return (length + BLOCK - 1) / BLOCK * BLOCK;
    }

    private Tensor window(int layer, int part, int forRows, int forPositions) {
        return data.select(0, layer).select(0, part).narrow(0, 0, forRows).narrow(1, 0, forPositions).transpose(1, 2);
    }

    private Tensor cells(int row, int length) {
        return data.select(2, row).narrow(2, 0, length);
    }

    private void check(int row, int length) {
        if (row < 0 || row >= rows || length < 0 || length > positions) {
            throw new IllegalArgumentException("row " + row + " with " + length + " tokens is not in a cache of " + rows + " rows of " + positions + " tokens");
        }
    }

    private void replace(Tensor with) {
        viewOwner.close();
        viewOwner = new Owner();
        windowRows = 0;
        windowPositions = 0;
        windows = List.of();
        Owner next = new Owner();
        data = next.own(with);
        List<LayerRows> made = new ArrayList<>();
        if (rows > 0) {
            for (int layer = 0; layer < config.layers(); layer++) {
                made.add(new LayerRows(next.own(flat(layer, 0)), next.own(flat(layer, 1))));
            }
        }
        layerRows = made;
        owner.close();
        owner = next;
    }

    private Tensor flat(int layer, int part) {
        return data.select(0, layer).select(0, part).view((long) rows * positions, (long) config.kvHeads() * config.headDim());
    }
}
