package io.furlong.engine;

import io.furlong.torch.CheckpointException;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.TorchThread;
import io.furlong.wire.LoadLoraRequest;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings an adapter's weights into memory, from a PEFT directory or as a copy of weights in this process, and checks that they can be served.
 * Works on a thread of its own, so that a load never holds up a step; nothing is registered here.
 */
final class AdapterLoader implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AdapterLoader.class);

    private final EngineOptions options;
    private final ModelConfig model;
    private final TorchThread thread = new TorchThread("furlong-engine-loader");

    AdapterLoader(EngineOptions options, ModelConfig model) {
        this.options = options;
        this.model = model;
    }

    /** The caller owns the weights of the result. */
    LoadedAdapter.Source fromDirectory(LoadLoraRequest ask) throws AdapterRefused {
        Path path = allowed(ask);
        return checked(ask, Optional.of(path), load(ask.loraName(), () -> PeftDirectory.read(path, model)));
    }

    /** The caller owns the weights of the result; {@code weights} stay with whoever has them. */
    LoadedAdapter.Source fromMemory(LoadLoraRequest ask, LoraWeights weights) throws AdapterRefused {
        checkName(ask);
        if (weights.isTrainable()) {
            throw new AdapterRefused("LoRA adapter " + ask.loraName() + ": weights that are being trained can't be served; hand over a frozen copy");
        }
        return checked(ask, Optional.empty(), load(ask.loraName(), weights::frozenCopy));
    }

    /** @throws AdapterRefused unless adapters are enabled */
    void checkEnabled() throws AdapterRefused {
        if (!options.enableLora()) {
            throw new AdapterRefused("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.");
        }
    }

    @Override
    public void close() {
        thread.close();
    }

    private LoraWeights load(String name, Callable<LoraWeights> how) throws AdapterRefused {
        try {
            return thread.call(how);
        } catch (CheckpointException e) {
            throw new AdapterRefused("LoRA adapter " + name + ": " + e.getMessage());
        } catch (RuntimeException e) {
            LOG.warn("adapter {} can't be read", name, e);
            throw new AdapterRefused("LoRA adapter " + name + " can't be read: " + Engine.firstLine(e));
        }
    }

    private LoadedAdapter.Source checked(LoadLoraRequest ask, Optional<Path> path, LoraWeights weights) throws AdapterRefused {
        try {
            String digest = thread.call(weights::digest);
            check(ask, weights, digest);
            return new LoadedAdapter.Source(ask.loraName(), path, weights, digest, ask.version(), ask.pinned());
        } catch (AdapterRefused | RuntimeException e) {
            weights.close();
            throw e;
        }
    }

    private void check(LoadLoraRequest ask, LoraWeights weights, String digest) throws AdapterRefused {
        String expected = ask.expectedDigest().orElse(digest);
        if (!expected.equals(digest)) {
            throw new AdapterRefused("LoRA adapter " + ask.loraName() + ": its weights have digest " + digest + ", expected was " + expected);
        }
        int maxRank = options.maxLoraRank().orElse(Integer.MAX_VALUE);
        if (weights.maxRank() > maxRank) {
            throw new AdapterRefused("LoRA adapter " + ask.loraName() + " with rank " + weights.maxRank() + " is incompatible with the current LoRA "
                    + "memory pool configuration. The highest rank is " + maxRank + " (--max-lora-rank).");
        }
        if (!weights.config().equals(model)) {
            throw new AdapterRefused("LoRA adapter " + ask.loraName() + " is for a model of another shape than the one being served");
        }
    }

    private Path allowed(LoadLoraRequest ask) throws AdapterRefused {
        checkName(ask);
        Path path;
        try {
            path = Path.of(ask.loraPath()).toAbsolutePath().normalize();
        } catch (InvalidPathException e) {
            throw new AdapterRefused("LoRA adapter " + ask.loraName() + ": lora_path is no path: " + e.getReason());
        }
        if (options.adapterRoots().isEmpty()) {
            return path;
        }
        try {
            Path real = path.toRealPath();
            for (Path root : options.adapterRoots()) {
                if (real.startsWith(root.toRealPath())) {
                    return path;
                }
            }
        } catch (IOException e) {
            throw new AdapterRefused("LoRA adapter " + ask.loraName() + ": " + e.getMessage() + ": no such directory");
        }
        throw new AdapterRefused("LoRA adapter " + ask.loraName() + ": " + path + " is outside the allowed directories (--adapter-root "
                + options.adapterRoots() + ")");
    }

    private void checkName(LoadLoraRequest ask) throws AdapterRefused {
        checkEnabled();
        if (ask.loraName().isBlank()) {
            throw new AdapterRefused("lora_name is empty, a name is needed");
        }
    }
}
