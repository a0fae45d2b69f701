package io.furlong.wire;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * A reply of {@code /generate}, and each chunk of a stream: by default cumulative, with {@code --incremental-streaming-output} what is new.
 *
 * @param text      absent when the server runs without a tokenizer
 * @param outputIds response token ids, end token included, shape [R]
 * @param index     position in the batch, in chunks of batch streams
 */
public record GenerateResponse(Optional<String> text, int[] outputIds, MetaInfo metaInfo, OptionalInt index) {
    /** Ends a stream. */
    public static final String DONE = "[DONE]";
}
