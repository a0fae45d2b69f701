package io.furlong.torch;

/** What serving promises about the last bits of its results. */
public enum Numerics {
    /** As fast as it goes: a row's last bits may depend on what else is computed with it. */
    FAST,
    /**
     * A row's bits depend on its tokens, its position and its adapter alone: rows are computed in tiles of exactly {@value Decoder#TILE}, one adapter a tile, prefill
     * like decode, and attention row by row over a key length that the position alone decides.
     */
    DETERMINISTIC
}
