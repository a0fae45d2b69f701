package io.furlong.torch;

import io.furlong.torch.BaseModel.Block;
import io.furlong.torch.BaseModel.HeadNorms;
import io.furlong.torch.RotaryTable.Angles;
import java.util.List;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/**
 * The forward pass: tokens to hidden states, under the base or under adapters.
 *
 * <p>Rows are tokens; sequences lie end to end without padding. Results belong to the caller's {@link Scope}. A decoder belongs to one thread; several may share a model.
 */
public final class Decoder implements AutoCloseable {
    private final BaseModel model;
    private final ModelConfig config;
    private final Owner owner = new Owner();
    private final RotaryTable rotary;
    private final DoubleOptional eps;
    private final long[] hiddenShape;
    private final long[] headShape;

    public Decoder(BaseModel model) {
        this.model = model;
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

    /** Logits of hidden rows: {@code [rows, hidden]} to {@code [rows, vocab]}. */
    public Tensor logits(Tensor hidden) {
        return torch.linear(hidden, model.lmHead());
    }

    @Override
    public void close() {
        rotary.close();
        owner.close();
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
        Tensor qkv = adapters.apply(block.qkv(), norm(x, hiddenShape, block.inputNorm())).view(-1, config.heads() + 2L * config.kvHeads(), config.headDim());
        Tensor qk = qkv.narrow(1, 0, config.heads() + config.kvHeads());
        if (block.headNorms().isPresent()) {
            qk = headNormed(qk, block.headNorms().get());
        }
        qk = rotary.rotate(qk, angles);
        Tensor q = qk.narrow(1, 0, config.heads());
        Tensor k = qk.narrow(1, config.heads(), config.kvHeads());
        Tensor v = qkv.narrow(1, config.heads() + config.kvHeads(), config.kvHeads());
        x = adapters.addTo(x, block.output(), attention.attend(layer, q, k, v));

        Tensor gateUp = adapters.apply(block.gateUp(), norm(x, hiddenShape, block.mlpNorm()));
        Tensor gate = gateUp.narrow(1, 0, config.intermediateSize());
        Tensor up = gateUp.narrow(1, config.intermediateSize(), config.intermediateSize());
        return adapters.addTo(x, block.down(), torch.silu(gate).mul(up));
    }

    private Tensor headNormed(Tensor qk, HeadNorms norms) {
        Tensor q = norm(qk.narrow(1, 0, config.heads()), headShape, norms.query());
        Tensor k = norm(qk.narrow(1, config.heads(), config.kvHeads()), headShape, norms.key());
        return torch.cat(new org.bytedeco.pytorch.TensorVector(q, k), 1);
    }

    private Tensor norm(Tensor x, long[] shape, TensorOptional weight) {
        return torch.rms_norm(x, shape, weight, eps);
    }
}
