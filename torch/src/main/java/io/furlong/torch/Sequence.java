package io.furlong.torch;

import java.util.List;
import java.util.Optional;

/**
 * One token sequence of a forward pass and the adapter it runs under.
 *
 * @param tokens token ids; at least one
 * @param lora   the adapter, empty for the base
 */
public record Sequence(int[] tokens, Optional<LoraWeights> lora) {
    public Sequence {
        if (tokens.length == 0) {
            throw new IllegalArgumentException("a sequence needs at least one token");
        }
    }

    /** A sequence under the base alone. */
    public static Sequence ofBase(int... tokens) {
        return new Sequence(tokens, Optional.empty());
    }

    /** A sequence under {@code lora}. */
    public static Sequence of(LoraWeights lora, int... tokens) {
        return new Sequence(tokens, Optional.of(lora));
    }

    /** Tokens of all {@code batch} together: the rows of a packed forward. */
    public static int rows(List<Sequence> batch) {
        return batch.stream().mapToInt(s -> s.tokens().length).sum();
    }
}
