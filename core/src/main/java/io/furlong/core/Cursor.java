package io.furlong.core;

import java.util.List;

/**
 * How far a registration has read its dataset, at the granularity of a commit.
 *
 * @param fingerprint of the file, so that a changed file is noticed on resume
 * @param epoch       zero-based pass
 * @param position    rows handed out in this pass
 * @param open        rows handed out but neither trained, filtered nor failed: they go out first after a restart
 * @param finished    rows finished since the start (trained, filtered or failed)
 */
public record Cursor(String fingerprint, int epoch, long position, List<OpenRow> open, long finished) {
    public static final Cursor START = new Cursor("", 0, 0, List.of(), 0);

    public Cursor {
        open = List.copyOf(open);
    }

    /** A row that is out, with its attempt counts. */
    public record OpenRow(int epoch, long row, int retries, int stale) {}
}
