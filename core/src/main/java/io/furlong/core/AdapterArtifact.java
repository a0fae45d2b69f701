package io.furlong.core;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * One version's immutable weights. Whoever holds it may read it at any time; the trainer never writes to it.
 */
public interface AdapterArtifact {
    String adapter();

    /** Registration, version, step, digest and the name that engines are to know it by. */
    PolicyStamp stamp();

    int rank();

    /** Linear layers with a delta, by Hugging Face name. */
    List<String> targets();

    /** A fixed token sequence, shape [P]. */
    int[] probeTokens();

    /** The trainer's log-prob of each probe token after the first, with the adapter, natural log, T 1, shape [P − 1]. */
    float[] probeLogProbs();

    /** The same without the adapter. */
    float[] probeBaseLogProbs();

    /** A finished PEFT directory with these weights, written and synced; the same path each time. */
    Path materialise() throws IOException;
}
