package io.furlong.train;

import io.furlong.core.Adapter;
import io.furlong.core.LoraConfig;
import io.furlong.torch.CheckpointException;
import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.Projection;
import io.furlong.torch.Torch;
import io.furlong.train.checkpoint.Checkpoint;
import io.furlong.train.checkpoint.TrainingState;
import io.furlong.train.optim.AdamW;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;

/** Makes an adapter's learner: new, from weights, or going on from a checkpoint. What comes from disk must have the shape that the configuration asks for. */
final class LearnerStart {
    /** Two scalings closer than this are one; files round alpha. */
    private static final double SAME_SCALING = 1e-9;

    private final ModelConfig model;
    private final Adapter adapter;

    LearnerStart(ModelConfig model, Adapter adapter) {
        this.model = model;
        this.adapter = adapter;
    }

    Learner from(Start start) {
        return switch (start) {
            case Start.Fresh(long seed) -> fresh(seed);
            case Start.Weights(Path directory) -> weights(directory);
            case Start.Continue(Path directory) -> resumed(directory);
        };
    }

    /** The projections that {@code target_modules} names. */
    static Set<Projection> targets(LoraConfig lora) {
        if (lora.targets().equals(LoraConfig.ALL_LINEAR)) {
            return EnumSet.allOf(Projection.class);
        }
        EnumSet<Projection> targets = EnumSet.noneOf(Projection.class);
        lora.targets().forEach(target -> targets.add(Projection.named(target).orElseThrow()));
        return targets;
    }

    private Learner fresh(long seed) {
        LoraWeights weights = LoraWeights.init(model, spec(), seed);
        return new Learner(adapter, weights, new AdamW(weights), adapter.step(), adapter.step(), 0, seed);
    }

    private Learner weights(Path directory) {
        LoraWeights weights = read(directory);
        return new Learner(adapter, weights, new AdamW(weights), adapter.step(), adapter.step(), 0, 0);
    }

    private Learner resumed(Path directory) {
        Checkpoint checkpoint = Checkpoint.open(directory);
        TrainingState state = checkpoint.state();
        LoraWeights weights = read(directory);
        AdamW optimizer = new AdamW(weights);
        try {
            checkpoint.restore(optimizer);
        } catch (RuntimeException e) {
            optimizer.close();
            weights.close();
            throw e;
        }
        boolean sameRegistration = state.registration().equals(adapter.registration().hex());
        long first = sameRegistration ? state.scheduleFirst() : state.step();
        return new Learner(adapter, weights, optimizer, state.step(), first, sameRegistration ? state.vetoes() : 0, state.seed());
    }

    private LoraSpec spec() {
        LoraConfig lora = adapter.config().lora();
        return new LoraSpec(lora.rank(), lora.alpha(), LoraSpec.Scaling.STANDARD, targets(lora));
    }

    /** Trainable weights with a file's values and exactly the configuration's scaling. */
    private LoraWeights read(Path directory) {
        LoraWeights weights = LoraWeights.init(model, spec(), 0);
        try (LoraWeights file = PeftDirectory.read(directory, model)) {
            mismatch(file).ifPresent(problem -> {
                throw new CheckpointException("adapter '" + adapter.name() + "': " + directory + " has " + problem);
            });
            Torch.noGrad(() -> weights.parameters().forEach((name, p) -> {
                Tensor saved = file.parameters().get(name);
                p.copy_(saved);
            }));
            return weights;
        } catch (RuntimeException e) {
            weights.close();
            throw e;
        }
    }

    private Optional<String> mismatch(LoraWeights file) {
        LoraSpec asked = spec();
        if (!file.targets().equals(asked.targets())) {
            return Optional.of("target_modules " + names(file.targets()) + ", the configuration asks for " + names(asked.targets()));
        }
        for (int layer = 0; layer < model.layers(); layer++) {
            for (Projection p : asked.targets()) {
                Optional<LoraWeights.Pair> pair = file.pair(layer, p);
                if (pair.isEmpty()) {
                    return Optional.of("no tensors for " + p.path(layer));
                }
                if (pair.get().rank() != asked.rank()) {
                    return Optional.of("rank " + pair.get().rank() + ", the configuration asks for rank " + asked.rank());
                }
                double scaling = pair.get().scaling();
                if (Math.abs(scaling - asked.factor()) > SAME_SCALING * asked.factor()) {
                    return Optional.of("alpha " + (float) (scaling * asked.rank()) + " (as alpha / rank counts it), the configuration asks for alpha "
                            + (float) asked.alpha());
                }
            }
        }
        return Optional.empty();
    }

    private static String names(Set<Projection> targets) {
        return String.join(", ", targets.stream().map(Projection::moduleName).toList());
    }
}
