package io.furlong.sglang.testing;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A version as the trainer would hand it over, on disk, with the probe's log-probs by {@link HashModel}. */
public record TestArtifact(String adapter, PolicyStamp stamp, Path directory, HashModel.Delta delta, int rank) implements AdapterArtifact {
    public static final int RANK = 4;

    /** @param effect nats by which it moves log-probs; 0 for a first version, NaN for one gone bad */
    public static TestArtifact make(Path root, String adapter, RegistrationId registration, long version, double effect) {
        return make(root, adapter, registration, version, effect, RANK);
    }

    /** @param rank by which its file grows: {@link AdapterFiles#BYTES_A_RANK} each */
    public static TestArtifact make(Path root, String adapter, RegistrationId registration, long version, double effect, int rank) {
        try {
            Path draft = Files.createTempDirectory(Files.createDirectories(root), "draft");
            AdapterFiles.write(draft, rank, effect, adapter + registration + version);
            HashModel.Delta delta = AdapterFiles.read(draft);
            PolicyStamp stamp = new PolicyStamp(registration, version, version - 1, delta.digest(), PolicyStamp.versionedName(adapter, registration, version, delta.digest()));
            Path directory = Files.move(draft, root.resolve(stamp.servedName()));
            return new TestArtifact(adapter, stamp, directory, delta, rank);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The same weights under a slot's name. */
    public TestArtifact inSlot(int slot) {
        return new TestArtifact(adapter, new PolicyStamp(stamp.registration(), stamp.version(), stamp.step(), stamp.digest(), PolicyStamp.slotName(slot)), directory, delta, rank);
    }

    @Override
    public List<String> targets() {
        return List.of("q_proj", "v_proj");
    }

    @Override
    public int[] probeTokens() {
        return new int[] {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
    }

    @Override
    public float[] probeLogProbs() {
        return HashModel.probe(probeTokens(), Double.isNaN(delta.effect()) ? new HashModel.Delta(delta.digest(), 0.3) : delta);
    }

    @Override
    public float[] probeBaseLogProbs() {
        return HashModel.probe(probeTokens(), HashModel.Delta.NONE);
    }

    @Override
    public Path materialise() {
        return directory;
    }
}
