package io.furlong.sglang;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.PolicyStamp;
import java.io.IOException;
import java.nio.file.Path;

/**
 * One version that engines have to hold: what it takes to load it on an engine that joins later, and to prove that it is applied there.
 *
 * @param path             its finished directory; the name of the directory differs for every version
 * @param probeTokens      shape [P]
 * @param probeLogProbs    the trainer's, with the adapter, natural log, T 1, shape [P − 1]
 * @param probeBaseLogProbs the same without it
 */
record HeldVersion(String adapter, PolicyStamp stamp, Path path, int[] probeTokens, float[] probeLogProbs, float[] probeBaseLogProbs) {
    HeldVersion {
        if (probeLogProbs.length != probeTokens.length - 1 || probeBaseLogProbs.length != probeTokens.length - 1) {
            throw new IllegalArgumentException(adapter + ": " + probeTokens.length + " probe tokens need " + (probeTokens.length - 1)
                    + " log-probs with and without the adapter, got " + probeLogProbs.length + " and " + probeBaseLogProbs.length);
        }
    }

    static HeldVersion of(AdapterArtifact artifact) throws IOException {
        return new HeldVersion(artifact.adapter(), artifact.stamp(), artifact.materialise().toAbsolutePath(), artifact.probeTokens(),
                artifact.probeLogProbs(), artifact.probeBaseLogProbs());
    }

    String name() {
        return stamp.servedName();
    }

    /** The same weights under the same name. */
    boolean same(HeldVersion other) {
        return stamp.digest().equals(other.stamp.digest()) && name().equals(other.name());
    }
}
