package io.furlong.cli.run;

import io.furlong.control.Store;
import io.furlong.core.PolicyStamp;
import io.furlong.core.TrainBatch;
import io.furlong.train.checkpoint.DiskObserver;

/**
 * Told of what a run does to disk, store and engine, in order, on the thread that does it; the work goes on when the call returns. What it
 * throws ends the work there, as a crash would. The registry's own listeners tell of the snapshots that follow.
 */
public interface RunObserver {
    /** Watches nothing. */
    RunObserver NONE = new RunObserver() {};

    /** Moves of a version into the engine of this process, each before or after it happens. */
    enum PublishMove { LOADING, LOADED, PROBING, PROBED }

    /** Told of the moves towards a checkpoint on disk. */
    default DiskObserver disk() {
        return DiskObserver.NONE;
    }

    /** May stand in front of the store; everything the run reads and writes there goes through what this returns. */
    default Store store(Store store) {
        return store;
    }

    default void publishing(PublishMove move, PolicyStamp stamp) {}

    /** A batch is about to be trained. */
    default void training(TrainBatch batch) {}
}
