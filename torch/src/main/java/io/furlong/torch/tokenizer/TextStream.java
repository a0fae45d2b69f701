package io.furlong.torch.tokenizer;

import io.furlong.core.Tokenizer;
import java.util.Arrays;

/**
 * The text of a growing token sequence, piece by piece: what {@link #add} returned, joined, is what decoding all at once gives, once
 * {@link #finish} was asked for the rest. A piece never ends within a character that several tokens make up, and only the last few
 * tokens are decoded again each time. For use by one thread.
 *
 * <p>The method is SGLang's detokenizer's: decode a window that begins where the piece before began, with and without the new tokens,
 * and give out the difference, unless it ends in a replacement character.
 */
public final class TextStream {
    private static final char INCOMPLETE = '\uFFFD';

    private final Tokenizer tokenizer;
    private int[] window = new int[16];
    private int length;
    private int settled;

    public TextStream(Tokenizer tokenizer) {
        this.tokenizer = tokenizer;
    }

    /** @return the text that is now certain; empty while a character is incomplete */
    public String add(int... tokenIds) {
        if (length + tokenIds.length > window.length) {
            window = Arrays.copyOf(window, Math.max(2 * window.length, length + tokenIds.length));
        }
        System.arraycopy(tokenIds, 0, window, length, tokenIds.length);
        length += tokenIds.length;
        String all = decode(length);
        if (all.isEmpty() || all.charAt(all.length() - 1) == INCOMPLETE) {
            return "";
        }
        String piece = all.substring(decode(settled).length());
        System.arraycopy(window, settled, window, 0, length - settled);
        length -= settled;
        settled = length;
        return piece;
    }

    /** @return what was held back: an incomplete character, as replacement characters */
    public String finish() {
        String rest = decode(length).substring(decode(settled).length());
        settled = length;
        return rest;
    }

    private String decode(int until) {
        return until == 0 ? "" : tokenizer.decode(Arrays.copyOf(window, until));
    }
}
