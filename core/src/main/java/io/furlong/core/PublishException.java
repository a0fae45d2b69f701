package io.furlong.core;

/** A version could not be brought into force. */
public final class PublishException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Whose fault it is. */
    public enum Blame {
        /** The engines (unreachable, full, timed out): the version is tried again. */
        ENGINES,
        /** The adapter itself (rejected by every engine tried): the adapter fails. */
        ADAPTER
    }

    private final Blame blame;

    public PublishException(Blame blame, String message) {
        super(message);
        this.blame = blame;
    }

    public PublishException(Blame blame, String message, Throwable cause) {
        super(message, cause);
        this.blame = blame;
    }

    public Blame blame() {
        return blame;
    }
}
