package io.furlong.train;

import java.nio.file.Path;

/** Where an adapter's training starts from. */
public sealed interface Start {
    /** New weights that change nothing yet: random A, zero B; the same seed gives the same weights. */
    record Fresh(long seed) implements Start {}

    /** The weights of a PEFT directory, or of another adapter's checkpoint; optimizer, step and schedule start anew. */
    record Weights(Path directory) implements Start {}

    /**
     * A checkpoint: weights, moments, step and schedule go on bit for bit. Where it is an earlier registration's, the schedule starts anew at its step.
     */
    record Continue(Path checkpoint) implements Start {}
}
