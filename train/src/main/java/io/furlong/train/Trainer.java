package io.furlong.train;

import io.furlong.core.Adapter;
import io.furlong.core.HealthProbe;
import io.furlong.core.PolicyStamp;
import io.furlong.core.TrainBatch;
import io.furlong.torch.BaseModel;
import io.furlong.torch.CheckpointException;
import io.furlong.torch.Decoder;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.TorchArtifact;
import io.furlong.torch.TorchThread;
import io.furlong.train.checkpoint.Checkpoint;
import io.furlong.train.checkpoint.DiskObserver;
import io.furlong.train.checkpoint.TrainingState;
import io.furlong.train.optim.AdamW;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * Trains many adapters over one frozen base: attach, train on batches, prepare a version after each step, detach.
 *
 * <p>Invariants. An adapter's weights, gradient and optimizer depend on its own groups alone, never on who else is in a batch. A step divides the sum
 * over its samples once, by their number. What isn't finite vetoes that adapter's step and nothing else. What leaves the trainer is a copy; tensors
 * it writes to are seen by nobody.
 *
 * <p>Owns one torch thread; every method runs there and returns when it is done. May be called from any thread.
 */
public final class Trainer implements AutoCloseable {
    /** Vetoes in a row after which an adapter should fail. */
    public static final int VETOES_THAT_FAIL = 3;

    private static final int PROBE_LENGTH = 16;

    private final TorchThread thread = new TorchThread("furlong-trainer");
    private final BaseModel base;
    private final String baseName;
    private final TrainerOptions options;
    private final DiskObserver disk;
    private final TrainerHealth health = new TrainerHealth();

    // Below: used on the torch thread only.
    private final Map<String, Learner> learners = new LinkedHashMap<>();
    private final Decoder decoder;
    private final ResponseScorer scorer;
    private final TorchArtifact.Probe probe;

    /**
     * @param base     shared with whoever else reads it; stays the caller's
     * @param baseName what PEFT configs call it
     * @param disk     told of each move of a checkpoint towards the disk
     */
    public Trainer(BaseModel base, String baseName, TrainerOptions options, DiskObserver disk) {
        this.base = base;
        this.baseName = baseName;
        this.options = options;
        this.disk = disk;
        decoder = thread.call(() -> new Decoder(base));
        scorer = new ResponseScorer(decoder);
        probe = thread.call(() -> TorchArtifact.Probe.of(decoder, probeTokens(base.config().vocabSize())));
    }

    public Trainer(BaseModel base, String baseName, TrainerOptions options) {
        this(base, baseName, options, DiskObserver.NONE);
    }

    /**
     * Takes an adapter in.
     *
     * @throws CheckpointException in one line, if the start's weights are missing, changed, or of another shape than the configuration asks for
     */
    public Attached attach(Adapter adapter, Start start) {
        return thread.call(() -> {
            if (learners.containsKey(adapter.name())) {
                throw new IllegalStateException("adapter '" + adapter.name() + "' is attached already");
            }
            Learner learner = new LearnerStart(base.config(), adapter).from(start);
            learners.put(adapter.name(), learner);
            health.attached(learners.size());
            long parameters = learner.weights().parameters().values().stream().mapToLong(p -> p.numel()).sum();
            return new Attached(learner.step(), parameters);
        });
    }

    /** Takes over what may change while an adapter runs: learning rate and the rest of the optimizer's settings, loss, last step, staleness. */
    public void adjust(Adapter adapter) {
        thread.run(() -> learner(adapter.name()).adjust(adapter));
    }

    /** Lets an adapter go, with all that it accumulated; does nothing when it isn't here. */
    public void detach(String adapter) {
        thread.run(() -> {
            Optional.ofNullable(learners.remove(adapter)).ifPresent(Learner::close);
            health.attached(learners.size());
        });
    }

    /** Forward and backward over all groups of the batch, and a step for each adapter whose batch is complete. */
    public TrainReport train(TrainBatch batch) {
        return thread.call(() -> health.watch(() -> new TrainCall(batch, learners, scorer, base.config().vocabSize(), options).run()));
    }

    /**
     * Drops what an adapter has accumulated towards its next step.
     *
     * @return the groups that were dropped
     */
    public int discard(String adapter) {
        return thread.call(() -> Optional.ofNullable(learners.get(adapter)).map(Learner::discard).orElse(0));
    }

    /**
     * Writes the present weights of an adapter, with its training state, as a version of its own, named {@code <adapter>.<registration>@v<version>-<digest>}.
     * When it returns, the directory survives a power cut; the version may be committed, then published under the directory's name.
     *
     * <p>The calling thread does the writing, so that several adapters can wait for the disk at once while the trainer goes on.
     *
     * @param version   given to this state of the weights before any engine sees it
     * @param directory that the version's directory is made in
     * @throws IOException in one line, if the directory can't be written; there is none under its name then
     */
    public Prepared prepare(String adapter, long version, Path directory) throws IOException {
        return prepare(adapter, version, directory, directoryName -> directoryName);
    }

    /** The same for engines that know the version by another name than its directory's, such as a slot's. */
    public Prepared prepare(String adapter, long version, Path directory, UnaryOperator<String> servedName) throws IOException {
        Snapshot now = thread.call(() -> Snapshot.of(learner(adapter), version, servedName));
        try (AdamW moments = now.moments()) {
            Checkpoint checkpoint = Checkpoint.write(directory.resolve(now.directoryName()), now.state(), now.weights(), moments, baseName, disk);
            return thread.call(() -> prepared(adapter, now.stamp(), now.weights(), checkpoint));
        } catch (IOException e) {
            now.weights().close();
            throw new IOException("adapter '" + adapter + "': checkpoint can't be written: " + e.getMessage(), e);
        } catch (RuntimeException e) {
            now.weights().close();
            throw e;
        }
    }

    /**
     * The version that an adapter was just continued from, to be published again after a restart: same number, same digest, same name.
     *
     * @throws CheckpointException in one line, if the checkpoint isn't what the adapter's present weights came from
     */
    public Prepared reopen(String adapter, Path checkpointDirectory) {
        return thread.call(() -> {
            Learner learner = learner(adapter);
            Checkpoint checkpoint = Checkpoint.open(checkpointDirectory);
            TrainingState state = checkpoint.state();
            if (!state.registration().equals(learner.registration().hex()) || !state.digest().equals(learner.weights().digest())) {
                throw new CheckpointException("adapter '" + adapter + "': " + checkpointDirectory + " does not hold its present weights");
            }
            PolicyStamp stamp = new PolicyStamp(learner.registration(), state.version(), state.step(), state.digest(), state.servedName());
            learner.remember(state.version());
            return prepared(adapter, stamp, learner.weights().frozenCopy(), checkpoint);
        });
    }

    /** Whether the trainer can work. */
    public HealthProbe health() {
        return health;
    }

    /** Ends the thread and frees all adapters; the base stays. */
    @Override
    public void close() {
        thread.run(() -> {
            learners.values().forEach(Learner::close);
            learners.clear();
            decoder.close();
        });
        thread.close();
        health.closed();
    }

    private Prepared prepared(String adapter, PolicyStamp stamp, LoraWeights copy, Checkpoint checkpoint) {
        TorchArtifact artifact = new TorchArtifact(adapter, stamp, copy, decoder, probe,
                new TorchArtifact.Destination(thread, checkpoint.directory(), baseName));
        return new Prepared(artifact, checkpoint.directory(), checkpoint.digest());
    }

    /** Copies of all that a version's directory holds, made between two steps. */
    private record Snapshot(PolicyStamp stamp, String directoryName, TrainingState state, LoraWeights weights, AdamW moments) {
        static Snapshot of(Learner learner, long version, UnaryOperator<String> servedName) {
            LoraWeights copy = learner.weights().frozenCopy();
            String digest = copy.digest();
            String name = PolicyStamp.versionedName(learner.name(), learner.registration(), version, digest);
            PolicyStamp stamp = new PolicyStamp(learner.registration(), version, learner.step(), digest, servedName.apply(name));
            TrainingState state = new TrainingState(learner.name(), learner.registration().hex(), version, learner.step(), learner.optimizer().updates(),
                    learner.schedule().first(), learner.vetoes(), learner.seed(), digest, stamp.servedName());
            learner.remember(version);
            AdamW moments = new AdamW(copy);
            moments.restore(learner.optimizer().updates(), learner.optimizer().moments());
            return new Snapshot(stamp, name, state, copy, moments);
        }
    }

    /** A fixed sequence that strides through the whole vocabulary: its log-probs tell whether an engine applies an adapter. */
    private static int[] probeTokens(int vocabSize) {
        return IntStream.range(0, PROBE_LENGTH).map(i -> (int) ((i * 2_654_435_761L + 1) % vocabSize)).toArray();
    }

    private Learner learner(String adapter) {
        Learner learner = learners.get(adapter);
        if (learner == null) {
            throw new IllegalStateException("adapter '" + adapter + "' is not attached");
        }
        return learner;
    }
}
