package io.furlong.core;

/** Why an engine ended a response. */
public enum FinishReason {
    /** An end token or stop string; the end token is part of the response and is trained. */
    STOP,
    /** {@code max_new_tokens} or the context length was reached. */
    LENGTH,
    /** Aborted by us or by the engine: never trained. */
    ABORT
}
