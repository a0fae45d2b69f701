package io.furlong.torch;

/** A model or adapter on disk is not one we can load. The message is one line for people: the file, the tensor or key, what is there and what would be right. */
public final class CheckpointException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public CheckpointException(String message) {
        super(message);
    }

    public CheckpointException(String message, Throwable cause) {
        super(message, cause);
    }
}
