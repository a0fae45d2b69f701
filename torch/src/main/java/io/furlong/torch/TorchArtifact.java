package io.furlong.torch;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.PolicyStamp;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/**
 * One version's weights as tensors, for an engine in this process, and as a PEFT directory on demand, for any other.
 *
 * <p>The weights are a frozen copy that this object owns: nobody writes to them, and they live until {@link #close}. Who needs them longer takes a copy.
 */
public final class TorchArtifact implements AdapterArtifact, AutoCloseable {
    private final String adapter;
    private final PolicyStamp stamp;
    private final LoraWeights weights;
    private final Probe probe;
    private final float[] probeLogProbs;
    private final Destination destination;

    /**
     * Where and how {@link #materialise} writes.
     *
     * @param thread    does the writing
     * @param directory the finished directory's path; its parent exists
     * @param baseModel {@code base_model_name_or_path} of the PEFT config
     */
    public record Destination(TorchThread thread, Path directory, String baseModel) {}

    /**
     * A fixed sequence whose log-probs tell whether an engine applies an adapter.
     *
     * @param tokens       at least two
     * @param baseLogProbs of the tokens after the first, under the base
     */
    public record Probe(int[] tokens, float[] baseLogProbs) {
        /** Scores {@code tokens} under the base; call on the thread of {@code decoder}. */
        public static Probe of(Decoder decoder, int[] tokens) {
            return new Probe(tokens.clone(), score(decoder, tokens, Optional.empty()));
        }
    }

    /**
     * Takes ownership of {@code weights} and scores the probe under them; call on the thread of {@code decoder}.
     *
     * @param stamp       its digest must be that of {@code weights}
     * @param weights     a frozen copy
     */
    public TorchArtifact(String adapter, PolicyStamp stamp, LoraWeights weights, Decoder decoder, Probe probe, Destination destination) {
        if (weights.isTrainable()) {
            throw new IllegalArgumentException(adapter + ": an artifact takes a frozen copy of the weights, not the ones being trained");
        }
        if (!stamp.digest().equals(weights.digest())) {
            throw new IllegalArgumentException(adapter + ": the stamp of version " + stamp.version() + " has digest " + stamp.digest() + ", the weights have " + weights.digest());
        }
        this.adapter = adapter;
        this.stamp = stamp;
        this.weights = weights;
        this.probe = probe;
        this.probeLogProbs = score(decoder, probe.tokens(), Optional.of(weights));
        this.destination = destination;
    }

    private static float[] score(Decoder decoder, int[] tokens, Optional<LoraWeights> lora) {
        float[] temperatures = new float[tokens.length - 1];
        Arrays.fill(temperatures, 1f);
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                Tensor hidden = decoder.forward(List.of(new Sequence(tokens, lora)));
                return Tensors.floats(LogProbs.of(decoder, hidden.narrow(0, 0, temperatures.length), Arrays.copyOfRange(tokens, 1, tokens.length), temperatures));
            }
        });
    }

    /** The frozen weights; valid until {@link #close}. */
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
        return probeLogProbs.clone();
    }

    @Override
    public float[] probeBaseLogProbs() {
        return probe.baseLogProbs().clone();
    }

    /** Written beside its place, synced, then renamed: under its final name the directory is always whole. */
    @Override
    public synchronized Path materialise() throws IOException {
        Path directory = destination.directory();
        if (Files.exists(directory)) {
            return directory;
        }
        Path parent = directory.toAbsolutePath().getParent();
        Path unfinished = Files.createTempDirectory(parent, "." + directory.getFileName() + ".");
        destination.thread().run(() -> PeftDirectory.write(weights, unfinished, destination.baseModel()));
        sync(unfinished);
        Files.move(unfinished, directory, StandardCopyOption.ATOMIC_MOVE);
        sync(parent);
        return directory;
    }

    private static void sync(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Frees the weights. */
    @Override
    public void close() {
        weights.close();
    }
}
