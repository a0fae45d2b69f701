package io.furlong.core;

import java.util.Optional;

/** The rows of one adapter's dataset, in order, epoch after epoch. Used by one thread at a time. */
public interface PromptSource extends AutoCloseable {
    /** The row at a place, for rows that are given out again; throws if the file no longer has it. */
    Prompt row(int epoch, long row);

    /**
     * The row at position {@code position} of pass {@code epoch}.
     *
     * @return empty past the end of the pass
     */
    Optional<Prompt> at(int epoch, long position);

    /** Rows a pass has, after filtering. */
    long rows();

    /** Rows left out because their prompt is too long. */
    long tooLong();

    /** SHA-256 of the file. */
    String fingerprint();

    @Override
    void close();
}
