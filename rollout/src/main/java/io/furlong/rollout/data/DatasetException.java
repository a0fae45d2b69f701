package io.furlong.rollout.data;

import java.nio.file.Path;

/** A dataset can't be used. One line: the file, the line or row and column where there is one, what is there, what would be right. */
public final class DatasetException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public DatasetException(Path file, String problem) {
        super(file + ": " + problem);
    }

    public DatasetException(Path file, String problem, Throwable cause) {
        super(file + ": " + problem, cause);
    }
}
