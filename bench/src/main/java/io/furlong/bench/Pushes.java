package io.furlong.bench;

import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.sglang.ModelShape;
import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.Numerics;
import io.furlong.torch.Torch;
import io.furlong.torch.TorchArtifact;
import io.furlong.torch.TorchThread;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.pytorch.Scalar;

/**
 * Versions of one adapter on all linear layers, as a trainer hands them over: the first without effect, each later one with random weights,
 * its directory written.
 */
final class Pushes implements AutoCloseable {
    private static final int[] PROBE = {5, 9, 14, 3, 77, 21, 8, 40, 11, 2, 63, 7, 7, 30, 1, 19};

    private final TorchThread thread = new TorchThread("trainer");
    private final RegistrationId registration = RegistrationId.random();
    private final ModelConfig config;
    private final int rank;
    private final Path directory;
    private final Decoder decoder;
    private Optional<TorchArtifact> last = Optional.empty();
    private long version;

    Pushes(BaseModel base, int rank, Path directory) {
        this.config = base.config();
        this.rank = rank;
        this.directory = directory;
        this.decoder = thread.call(() -> new Decoder(base, Numerics.FAST));
    }

    /** The next version; what the one before needed for its directory is given up. */
    TorchArtifact next() throws IOException {
        version++;
        last.ifPresent(TorchArtifact::close);
        TorchArtifact next = thread.call(() -> {
            try (LoraWeights made = LoraWeights.init(config, LoraSpec.allLinear(rank, 2 * rank), version)) {
                if (version > 1) {
                    Torch.noGrad(() -> {
                        made.flat().normal_().mul_(new Scalar(0.02));
                        return true;
                    });
                }
                LoraWeights frozen = made.frozenCopy();
                String name = PolicyStamp.versionedName("bench", registration, version, frozen.digest());
                PolicyStamp stamp = new PolicyStamp(registration, version, version - 1, frozen.digest(), name);
                return new TorchArtifact("bench", stamp, frozen, decoder, TorchArtifact.Probe.of(decoder, PROBE), new TorchArtifact.Destination(thread, directory.resolve(name), "bench"));
            }
        });
        last = Optional.of(next);
        next.materialise();
        return next;
    }

    /** What the publisher checks the directories against. */
    ModelShape shape() {
        int hidden = config.hiddenSize();
        int queries = config.heads() * config.headDim();
        int keys = config.kvHeads() * config.headDim();
        int inner = config.intermediateSize();
        return new ModelShape(config.layers(), config.vocabSize(), 2048, Map.of(
                "q_proj", new ModelShape.Linear(hidden, queries), "k_proj", new ModelShape.Linear(hidden, keys), "v_proj", new ModelShape.Linear(hidden, keys),
                "o_proj", new ModelShape.Linear(queries, hidden), "gate_proj", new ModelShape.Linear(hidden, inner), "up_proj", new ModelShape.Linear(hidden, inner),
                "down_proj", new ModelShape.Linear(inner, hidden)));
    }

    @Override
    public void close() {
        last.ifPresent(TorchArtifact::close);
        thread.run(decoder::close);
        thread.close();
    }
}
