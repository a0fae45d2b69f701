package io.furlong.core;

/** Why no response came. */
public final class SamplerException extends Exception {
    private static final long serialVersionUID = 1L;

    /** What a caller can do about it. */
    public enum Kind {
        /** {@link SampleRequest#wanted} said no: nothing was sent. */
        UNWANTED,
        /** Aborted by us or by the engine. */
        ABORTED,
        /** The engine refused the request; it would refuse it again. */
        REJECTED,
        /** No engine could answer in time, after retries. */
        UNAVAILABLE,
        /** The answer can't be trained on: log-probs missing, null or miscounted. */
        MALFORMED
    }

    private final Kind kind;

    public SamplerException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    public SamplerException(Kind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }
}
