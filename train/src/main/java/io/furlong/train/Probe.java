package io.furlong.train;

import io.furlong.torch.Decoder;
import io.furlong.torch.LogProbs;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Scope;
import io.furlong.torch.Sequence;
import io.furlong.torch.Torch;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/** A fixed token sequence whose log-probs tell whether an engine applies an adapter. Used on the trainer's thread. */
final class Probe {
    private static final int LENGTH = 16;
    private final Decoder decoder;
    private final int[] tokens;
    private final float[] base;

    /** What weights make of it: log-prob of each token after the first, natural log, T 1. */
    record Scores(int[] tokens, float[] adapted, float[] base) {}

    Probe(Decoder decoder) {
        this.decoder = decoder;
        int vocab = decoder.model().config().vocabSize();
        tokens = new int[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            // Strides through the whole vocabulary.
            tokens[i] = (int) ((i * 2_654_435_761L + 1) % vocab);
        }
        base = score(Optional.empty());
    }

    Scores of(LoraWeights weights) {
        return new Scores(tokens, score(Optional.of(weights)), base);
    }

    private float[] score(Optional<LoraWeights> weights) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                float[] temperatures = new float[LENGTH - 1];
                Arrays.fill(temperatures, 1);
                Tensor hidden = decoder.forward(List.of(new Sequence(Arrays.copyOf(tokens, LENGTH - 1), weights)));
                return ResponseScorer.read(LogProbs.of(decoder, hidden, Arrays.copyOfRange(tokens, 1, LENGTH), temperatures));
            }
        });
    }
}
