package io.furlong.train.checkpoint;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.furlong.torch.CheckpointException;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.Safetensors;
import io.furlong.torch.Scope;
import io.furlong.train.optim.AdamW;
import io.furlong.train.optim.AdamW.Moments;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import org.bytedeco.pytorch.Tensor;

/**
 * One version of one adapter on disk.
 *
 * <pre>
 * adapter_config.json, adapter_model.safetensors   the PEFT adapter: what engines load and exports copy
 * training/optimizer.safetensors                   Adam moments: mean.NAME and square.NAME for each PEFT name
 * training/state.json                              step, schedule, veto count, identity
 * manifest.json                                    SHA-256 of each file above
 * </pre>
 *
 * The training state lies in a directory of its own, because engines read every safetensors file beside the adapter's.
 *
 * @param directory where it is
 * @param state     what it holds
 * @param digest    SHA-256 of the manifest, 64 hex digits
 */
public record Checkpoint(Path directory, TrainingState state, String digest) {
    private static final String TRAINING = "training";
    private static final String STATE = TRAINING + "/state.json";
    private static final String OPTIMIZER = TRAINING + "/optimizer.safetensors";
    private static final String MEAN = "mean.";
    private static final String SQUARE = "square.";
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    /**
     * Writes a new one; when it returns, it survives a power cut.
     *
     * @param directory must not exist; its parents are made
     * @param baseModel what the PEFT config calls the base
     */
    public static Checkpoint write(Path directory, TrainingState state, LoraWeights weights, AdamW optimizer, String baseModel,
                                   DiskObserver observer) throws IOException {
        try {
            DurableDirectory files = new DurableDirectory(directory, observer);
            files.write("adapter_model.safetensors", path -> PeftDirectory.write(weights, path.getParent(), baseModel));
            Files.createDirectory(files.work().resolve(TRAINING));
            files.write(OPTIMIZER, path -> Safetensors.write(path, named(optimizer.moments()), Map.of("format", "pt")));
            files.write(STATE, path -> JSON.writeValue(path.toFile(), state));
            files.write(Manifest.NAME, path -> Files.write(path, Manifest.of(files.work()).bytes()));
            files.publish();
            return new Checkpoint(directory, state, Manifest.digestOf(directory));
        } catch (UncheckedIOException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /**
     * Opens one and compares every file with the manifest.
     *
     * @throws CheckpointException in one line, if it isn't one or a file has changed
     */
    public static Checkpoint open(Path directory) {
        Manifest.verified(directory);
        Path file = directory.resolve(STATE);
        try {
            return new Checkpoint(directory, JSON.readValue(file.toFile(), TrainingState.class), Manifest.digestOf(directory));
        } catch (JacksonException e) {
            throw new CheckpointException(file + ": is not a training state", e);
        } catch (IOException e) {
            throw new CheckpointException(file + ": can't be read", e);
        }
    }

    /** The adapter's weights; the caller closes them. */
    public LoraWeights weights(ModelConfig model) {
        return PeftDirectory.read(directory, model);
    }

    /** Puts the saved moments into an optimizer of the same adapter. */
    public void restore(AdamW optimizer) {
        Path file = directory.resolve(OPTIMIZER);
        try (Scope scope = new Scope(); Safetensors tensors = Safetensors.open(file)) {
            Map<String, Moments> saved = new LinkedHashMap<>();
            optimizer.moments().forEach((name, m) -> {
                long[] shape = m.mean().shape();
                saved.put(name, new Moments(tensors.floats(MEAN + name, shape), tensors.floats(SQUARE + name, shape)));
            });
            if (tensors.names().size() != 2 * saved.size()) {
                throw new CheckpointException(file + ": " + tensors.names().size() + " tensors, must be " + 2 * saved.size()
                        + ", two for each weight of the adapter");
            }
            optimizer.restore(state.updates(), saved);
        }
    }

    private static SequencedMap<String, Tensor> named(SequencedMap<String, Moments> moments) {
        SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
        moments.forEach((name, m) -> {
            tensors.put(MEAN + name, m.mean());
            tensors.put(SQUARE + name, m.square());
        });
        return tensors;
    }
}
