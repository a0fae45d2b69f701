package io.furlong.train;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.PolicyStamp;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Projection;
import java.nio.file.Path;
import java.util.List;

/**
 * One version as the trainer hands it out: an own copy of the weights, the PEFT directory that was written with them, and what they make of a
 * fixed token sequence. Nothing in it changes; the weights are freed by {@link #close}.
 */
public final class TrainedArtifact implements AdapterArtifact, AutoCloseable {
    private final String adapter;
    private final PolicyStamp stamp;
    private final LoraWeights weights;
    private final Path directory;
    private final Probe.Scores probe;

    TrainedArtifact(String adapter, PolicyStamp stamp, LoraWeights weights, Path directory, Probe.Scores probe) {
        this.adapter = adapter;
        this.stamp = stamp;
        this.weights = weights;
        this.directory = directory;
        this.probe = probe;
    }

    /** The weights as tensors, for an engine in this process: frozen, valid until {@link #close}; what is to live longer is copied. */
    public LoraWeights weights() {
        return weights;
    }

    @Override
    public String adapter() {
        return adapter;
    }

    @Override
    public PolicyStamp stamp() {
        return stamp;
    }

    @Override
    public int rank() {
        return weights.maxRank();
    }

    @Override
    public List<String> targets() {
        return weights.targets().stream().map(Projection::moduleName).toList();
    }

    @Override
    public int[] probeTokens() {
        return probe.tokens().clone();
    }

    @Override
    public float[] probeLogProbs() {
        return probe.adapted().clone();
    }

    @Override
    public float[] probeBaseLogProbs() {
        return probe.base().clone();
    }

    @Override
    public Path materialise() {
        return directory;
    }

    /** Frees the tensors; the directory stays. */
    @Override
    public void close() {
        weights.close();
    }
}
