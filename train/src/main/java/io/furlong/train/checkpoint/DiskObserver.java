package io.furlong.train.checkpoint;

import java.nio.file.Path;

/** Told of each move towards a durable checkpoint, in order, on the thread that makes it. What it throws ends the writing there, as a crash would. */
public interface DiskObserver {
    /** Moves, each before or after it happens. */
    enum Move { WRITING, WRITTEN, SYNCING, SYNCED, RENAMING, RENAMED }

    void at(Move move, Path path);

    /** Lets everything pass. */
    DiskObserver NONE = (move, path) -> { };
}
