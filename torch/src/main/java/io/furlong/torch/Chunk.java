package io.furlong.torch;

import java.util.Optional;

/**
 * Successive tokens of one sequence to be run through the decoder with its cache.
 *
 * @param row    the cache row of the sequence; positions before {@code start} are there already
 * @param start  position of the first token
 * @param tokens token ids; at least one
 * @param lora   the adapter, empty for the base
 */
public record Chunk(int row, int start, int[] tokens, Optional<LoraWeights> lora) {
    public Chunk {
        if (tokens.length == 0 || row < 0 || start < 0) {
            throw new IllegalArgumentException("a chunk needs tokens, a row and a start; has " + tokens.length + " tokens, row " + row + ", start " + start);
        }
    }
}
