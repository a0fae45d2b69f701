package io.furlong.train;

import io.furlong.core.Sample;
import io.furlong.torch.Decoder;
import io.furlong.torch.LogProbs;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Scope;
import io.furlong.torch.Sequence;
import io.furlong.torch.Tensors;
import io.furlong.torch.Torch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Log-probs of the trained tokens of responses, under any policy, at each sample's own temperature: the one computation behind the loss, the
 * reference and the gap. Only hidden states that predict a trained token reach the LM head. Used on the trainer's thread.
 */
final class ResponseScorer {
    private final Decoder decoder;

    /** A sample and the adapter to score it under; empty for the base. */
    record Response(Sample sample, Optional<LoraWeights> policy) {}

    ResponseScorer(Decoder decoder) {
        this.decoder = decoder;
    }

    /**
     * Natural log, float32, shape [N]: the trained tokens of all responses, in order. Every response needs at least one. Recorded for autograd if
     * the thread does.
     */
    Tensor logProbs(List<Response> responses) {
        int n = responses.stream().mapToInt(r -> r.sample().trainedTokens()).sum();
        int[] rows = new int[n];
        int[] tokens = new int[n];
        float[] temperatures = new float[n];
        List<Sequence> batch = new ArrayList<>();
        int row = 0;
        int at = 0;
        for (Response r : responses) {
            Sample s = r.sample();
            for (int t = 0; t < s.responseIds().length; t++) {
                if (s.lossMask()[t] != 0) {
                    rows[at] = row + s.promptIds().length + t - 1;
                    tokens[at] = s.responseIds()[t];
                    temperatures[at++] = (float) s.temperature();
                }
            }
            int[] context = context(s);
            batch.add(new Sequence(context, r.policy()));
            row += context.length;
        }
        try (Scope scope = new Scope()) {
            Tensor hidden = decoder.forward(batch);
            boolean all = rows.length == row;
            return scope.give(LogProbs.of(decoder, all ? hidden : hidden.index_select(0, torch.tensor(rows)), tokens, temperatures));
        }
    }

    /** {@link #logProbs} without autograd, as numbers. */
    float[] score(List<Response> responses) {
        if (responses.isEmpty()) {
            return new float[0];
        }
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                return Tensors.floats(logProbs(responses));
            }
        });
    }

    /** Tokens that the forward has to see: all before the last trained one. */
    static int contextLength(Sample s) {
        for (int t = s.responseIds().length - 1; t >= 0; t--) {
            if (s.lossMask()[t] != 0) {
                return s.promptIds().length + t;
            }
        }
        return 0;
    }

    private static int[] context(Sample s) {
        int[] context = Arrays.copyOf(s.promptIds(), contextLength(s));
        System.arraycopy(s.responseIds(), 0, context, s.promptIds().length, context.length - s.promptIds().length);
        return context;
    }
}
