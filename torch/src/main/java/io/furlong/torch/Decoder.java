package io.furlong.torch;

import io.furlong.torch.BaseModel.Block;
import io.furlong.torch.RotaryTable.Angles;
import io.furlong.torch.SegmentAdapters.Segment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The forward pass: tokens to hidden states, under the base or under adapters.
 *
 * <p>Rows are tokens; sequences lie end to end without padding. Results belong to the caller's {@link Scope}. A decoder belongs to one thread; several may share a model.
 */
public final class Decoder implements AutoCloseable {
    /** Rows of every product in the deterministic setting: OpenBLAS gives a row the same bits wherever among eight it stands. */
    static final int TILE = 8;

    private final BaseModel model;
    private final Numerics numerics;
    private final ModelConfig config;
    private final Owner owner = new Owner();
    private final RotaryTable rotary;
    private final DoubleOptional eps;
    private final long[] hiddenShape;
    private final long[] headShape;
    /** The adapters of the last even decode step; made anew when others come. */
    private Optional<AdapterStack> stack = Optional.empty();

    /** A decoder that serves {@link Numerics#FAST}. */
    public Decoder(BaseModel model) {
        this(model, Numerics.FAST);
    }

    public Decoder(BaseModel model, Numerics numerics) {
        this.model = model;
        this.numerics = numerics;
        config = model.config();
        hiddenShape = new long[] {config.hiddenSize()};
        headShape = new long[] {config.headDim()};
        try (Scope scope = new Scope()) {
            eps = owner.own(new DoubleOptional(config.rmsNormEps()));
            rotary = new RotaryTable(config);
        }
    }

    /** The model this decoder runs. */
    public BaseModel model() {
        return model;
    }

    /**
     * Whole sequences, for training and scoring; records for autograd if the thread does.
     *
     * @return hidden states after the last norm, float32 {@code [rows, hidden]}; rows are the tokens of the sequences in order
     */
    public Tensor forward(List<Sequence> batch) {
        try (Scope scope = new Scope()) {
            int[] tokens = new int[Sequence.rows(batch)];
            int[] positions = new int[tokens.length];
            int row = 0;
            for (Sequence sequence : batch) {
                for (int position = 0; position < sequence.tokens().length; position++, row++) {
                    tokens[row] = sequence.tokens()[position];
                    positions[row] = position;
                }
            }
            return scope.give(run(tokens, positions, SegmentAdapters.ofSequences(batch), new WholeSequenceAttention(batch)));
        }
    }

    /**
     * Runs chunks of sequences and stores their keys and values; records nothing for autograd.
     *
     * @param chunks of different cache rows, those of one adapter best next to each other
     * @return hidden states {@code [rows, hidden]}; rows are the tokens of the chunks in order
     */
    public Tensor prefill(KvCache cache, List<Chunk> chunks) {
        int count = chunks.stream().mapToInt(c -> c.tokens().length).sum();
        int[] tokens = new int[count];
        int[] rows = new int[count];
        int[] positions = new int[count];
        List<Optional<LoraWeights>> loras = new ArrayList<>();
        int at = 0;
        for (Chunk chunk : chunks) {
            for (int i = 0; i < chunk.tokens().length; i++, at++) {
                tokens[at] = chunk.tokens()[i];
                rows[at] = chunk.row();
                positions[at] = chunk.start() + i;
                loras.add(chunk.lora());
            }
        }
        return Torch.noGrad(() -> {
            if (numerics == Numerics.DETERMINISTIC) {
                return tiles(cache, tokens, rows, positions, loras);
            }
            for (Chunk chunk : chunks) {
                cache.reserve(chunk.row() + 1, chunk.start() + chunk.tokens().length);
            }
            try (Scope scope = new Scope()) {
                Adapters adapters = SegmentAdapters.of(chunks.stream().map(c -> new Segment(c.tokens().length, c.lora())).toList());
                return scope.give(run(tokens, positions, adapters, new ChunkAttention(cache, chunks)));
            }
        });
    }

    /**
     * Runs one token for each of the first rows of the cache and stores its keys and values; records nothing for autograd.
     *
     * @param tokens    the token of cache row {@code i}
     * @param positions its position: the number of tokens before it
     * @param loras     its adapter, empty for the base
     * @return hidden states {@code [rows, hidden]}
     */
    public Tensor decode(KvCache cache, int[] tokens, int[] positions, List<Optional<LoraWeights>> loras) {
        if (tokens.length == 0 || positions.length != tokens.length || loras.size() != tokens.length) {
            throw new IllegalArgumentException(tokens.length + " tokens, " + positions.length + " positions and " + loras.size() + " adapters must be as many, and some");
        }
        return Torch.noGrad(() -> {
            if (numerics == Numerics.DETERMINISTIC) {
                return tiles(cache, tokens, IntStream.range(0, tokens.length).toArray(), positions, loras);
            }
            cache.reserve(tokens.length, IntStream.of(positions).max().orElse(0) + 1);
            RowGroups groups = RowGroups.of(loras);
            int[] order = groups.areEven() ? groups.inOrderPadded() : groups.inOrder();
            try (Scope scope = new Scope()) {
                Adapters adapters = groups.areEven() ? stackOf(groups.adapters()).forRows(groups.largest()) : SegmentAdapters.of(groups.segments());
                Tensor hidden = run(pick(tokens, order), pick(positions, order), adapters, new DecodeAttention(cache, positions, order));
                return scope.give(RowGroups.isIdentity(order) ? hidden : hidden.index_select(0, torch.tensor(RowGroups.places(order, tokens.length))));
            }
        });
    }

    /** Logits of hidden rows: {@code [rows, hidden]} to {@code [rows, vocab]}. */
    public Tensor logits(Tensor hidden) {
        if (numerics == Numerics.FAST) {
            return torch.linear(hidden, model.lmHead());
        }
        try (Scope scope = new Scope()) {
            long rows = hidden.size(0);
            TensorVector tiles = new TensorVector();
            for (long at = 0; at < rows; at += TILE) {
                Tensor tile = hidden.narrow(0, at, Math.min(TILE, rows - at));
                long missing = TILE - tile.size(0);
                Tensor whole = missing == 0 ? tile.contiguous() : torch.cat(new TensorVector(tile, torch.zeros(missing, hidden.size(1))), 0);
                tiles.push_back(torch.linear(whole, model.lmHead()).narrow(0, 0, TILE - missing));
            }
            return scope.give(torch.cat(tiles, 0));
        }
    }

    @Override
    public void close() {
        stack.ifPresent(AdapterStack::close);
        rotary.close();
        owner.close();
    }

    private AdapterStack stackOf(List<LoraWeights> adapters) {
        if (stack.isEmpty() || !stack.get().holds(adapters)) {
            AdapterStack next = new AdapterStack(model, adapters, stack);
            stack.ifPresent(AdapterStack::close);
            stack = Optional.of(next);
        }
        return stack.get();
    }

    /** The deterministic setting: tiles of up to {@link #TILE} entries of one adapter, in order. */
    private Tensor tiles(KvCache cache, int[] tokens, int[] rows, int[] positions, List<Optional<LoraWeights>> loras) {
        for (int i = 0; i < tokens.length; i++) {
            cache.reserve(rows[i] + 1, Math.min(config.contextLength(), KvCache.blocks(positions[i] + 1)));
        }
        Map<Optional<LoraWeights>, List<Integer>> byAdapter = new LinkedHashMap<>();
        for (int i = 0; i < tokens.length; i++) {
            byAdapter.computeIfAbsent(loras.get(i), _ -> new ArrayList<>()).add(i);
        }
        try (Scope scope = new Scope()) {
            Tensor hidden = torch.zeros(tokens.length, config.hiddenSize());
            byAdapter.forEach((lora, entries) -> {
                for (int at = 0; at < entries.size(); at += TILE) {
                    int[] tile = entries.subList(at, Math.min(entries.size(), at + TILE)).stream().mapToInt(Integer::intValue).toArray();
                    try (Scope inner = new Scope()) {
                        Tensor out = tile(cache, pick(tokens, tile), pick(rows, tile), pick(positions, tile), lora);
                        hidden.index_copy_(0, torch.tensor(tile).to(torch.ScalarType.Long), out.narrow(0, 0, tile.length));
                    }
                }
            });
            return scope.give(hidden);
        }
    }

    private Tensor tile(KvCache cache, int[] tokens, int[] rows, int[] positions, Optional<LoraWeights> lora) {
        Adapters adapters = SegmentAdapters.of(List.of(new Segment(TILE, lora)));
        return run(Arrays.copyOf(tokens, TILE), Arrays.copyOf(positions, TILE), adapters, new TileAttention(cache, rows, positions));
    }

    private static int[] pick(int[] from, int[] indexes) {
        return IntStream.of(indexes).map(i -> from[i]).toArray();
    }

    private Tensor run(int[] tokens, int[] positions, Adapters adapters, Attention attention) {
        for (int token : tokens) {
            if (token < 0 || token >= config.vocabSize()) {
                throw new IllegalArgumentException("token id " + token + " is not in the vocabulary of " + config.vocabSize());
            }
        }
        Angles angles = rotary.at(positions);
        Tensor x = torch.embedding(model.embedding(), torch.tensor(tokens));
        for (int layer = 0; layer < config.layers(); layer++) {
            try (Scope scope = new Scope()) {
                x = scope.give(block(layer, x, angles, adapters, attention));
            }
        }
        return norm(x, hiddenShape, model.finalNorm());
    }

    private Tensor block(int layer, Tensor x, Angles angles, Adapters adapters, Attention attention) {
        Block block = model.blocks().get(layer);
        Tensor[] qkv = adapters.apply(block.qkv(), norm(x, hiddenShape, block.inputNorm()));
        Tensor q = qkv[0].view(-1, config.heads(), config.headDim());
        Tensor k = qkv[1].view(-1, config.kvHeads(), config.headDim());
        Tensor v = qkv[2].view(-1, config.kvHeads(), config.headDim());
        if (block.headNorms().isPresent()) {
            q = norm(q, headShape, block.headNorms().get().query());
            k = norm(k, headShape, block.headNorms().get().key());
        }
        Tensor attended = attention.attend(layer, rotary.rotate(q, angles), rotary.rotate(k, angles), v);
        Tensor mid = adapters.addTo(x, block.output(), attended);

        Tensor[] gateUp = adapters.apply(block.gateUp(), norm(mid, hiddenShape, block.mlpNorm()));
        return adapters.addTo(mid, block.down(), torch.silu(gateUp[0]).mul(gateUp[1]));
    }

    private Tensor norm(Tensor x, long[] shape, TensorOptional weight) {
        return torch.rms_norm(x, shape, weight, eps);
    }
}
