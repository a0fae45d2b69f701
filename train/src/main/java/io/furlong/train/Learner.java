package io.furlong.train;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.RegistrationId;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Scope;
import io.furlong.torch.Torch;
import io.furlong.train.loss.PolicyLoss;
import io.furlong.train.optim.AdamW;
import io.furlong.train.optim.GradientNorm;
import io.furlong.train.optim.LearningRate;
import java.util.Optional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * All that one adapter owns in the trainer: weights, the gradient accumulated towards its next step, optimizer, schedule, recent versions.
 *
 * <p>The gradient is a plain sum over samples, kept by autograd beside each parameter, and divided once, at the step, by the number of samples that went
 * into it. A step happens whole or not at all. Used on the trainer's thread only.
 */
final class Learner implements AutoCloseable {
    private final String name;
    private final RegistrationId registration;
    private final LoraWeights weights;
    private final AdamW optimizer;
    private final WeightHistory history = new WeightHistory();
    private final GapAlarms alarms = new GapAlarms();
    private final long seed;
    private AdapterConfig config;
    private PolicyLoss loss;
    private LearningRate schedule;
    private long step;
    private long presentVersion;
    private int vetoes;

    private int groups;
    private int samples;
    private double lossSum;
    private Optional<String> fault = Optional.empty();

    /**
     * Takes the trainable {@code weights} and the optimizer over them into ownership.
     *
     * @param scheduleFirst step at which the schedule started
     * @param seed          the first weights were made from; 0 when they came from elsewhere
     */
    Learner(Adapter adapter, LoraWeights weights, AdamW optimizer, long step, long scheduleFirst, int vetoes, long seed) {
        this.name = adapter.name();
        this.registration = adapter.registration();
        this.weights = weights;
        this.optimizer = optimizer;
        this.step = step;
        this.vetoes = vetoes;
        this.seed = seed;
        this.config = adapter.config();
        this.loss = PolicyLoss.of(config.loss());
        this.schedule = LearningRate.of(config.optimizer(), scheduleFirst, adapter.targetStep());
        weights.gradient();
    }

    /** Takes over learning rate, stop and staleness from a changed configuration; shape and loss stay. */
    void adjust(Adapter adapter) {
        config = adapter.config();
        loss = PolicyLoss.of(config.loss());
        schedule = LearningRate.of(config.optimizer(), schedule.first(), adapter.targetStep());
    }

    /** Counts a group, and its samples that have a trained token, towards the next step. */
    void count(int trainableSamples) {
        groups++;
        samples += trainableSamples;
    }

    /** Adds the loss of one micro-batch, whose gradient autograd has added already. */
    void addLoss(double sum) {
        lossSum += sum;
        if (!Double.isFinite(sum)) {
            fault("loss is " + sum);
        }
    }

    /** The next step will be vetoed for this reason; the first reason stays. */
    void fault(String reason) {
        if (fault.isEmpty()) {
            fault = Optional.of(reason);
        }
    }

    /** Whether the accumulated gradient can't be used any more. */
    boolean faulty() {
        return fault.isPresent();
    }

    StepOutcome accumulated() {
        return new StepOutcome.Accumulated(groups);
    }

    /** Ends the accumulation: a step, or a veto. */
    StepOutcome takeStep() {
        StepOutcome outcome = Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                return tryStep();
            }
        });
        discard();
        return outcome;
    }

    private StepOutcome tryStep() {
        if (fault.isPresent()) {
            return veto(fault.get());
        }
        if (samples == 0) {
            return veto("no sample has a trained token");
        }
        Tensor mean = weights.gradient().div(new Scalar((double) samples));
        double norm = GradientNorm.of(mean);
        if (!Double.isFinite(norm)) {
            return veto("gradient norm is " + norm);
        }
        GradientNorm.clip(mean, norm, config.optimizer().maxGradNorm());
        double lr = schedule.at(step);
        if (!optimizer.update(mean, lr, config.optimizer())) {
            return veto("weights would not be finite after a step with learning rate " + lr);
        }
        step++;
        presentVersion = 0;
        vetoes = 0;
        return new StepOutcome.Stepped(step, lossSum / samples, norm, lr, groups, samples);
    }

    private StepOutcome veto(String reason) {
        vetoes++;
        return new StepOutcome.Vetoed(reason, vetoes, groups);
    }

    /** Drops what was accumulated; the count of groups that were lost. */
    int discard() {
        try (Scope scope = new Scope()) {
            weights.gradient().zero_();
        }
        int lost = groups;
        groups = 0;
        samples = 0;
        lossSum = 0;
        fault = Optional.empty();
        return lost;
    }

    /** Gives the present weights a version number and keeps a copy of them for as long as a sample may be made by it. */
    void remember(long newVersion) {
        presentVersion = newVersion;
        history.add(newVersion, step, weights.frozenCopy(), step - config.maxStaleness());
    }

    String name() {
        return name;
    }

    RegistrationId registration() {
        return registration;
    }

    AdapterConfig config() {
        return config;
    }

    PolicyLoss loss() {
        return loss;
    }

    LoraWeights weights() {
        return weights;
    }

    AdamW optimizer() {
        return optimizer;
    }

    WeightHistory history() {
        return history;
    }

    GapAlarms alarms() {
        return alarms;
    }

    LearningRate schedule() {
        return schedule;
    }

    /** Optimizer steps taken. */
    long step() {
        return step;
    }

    /** Whether the weights are still those of this version. */
    boolean isPresent(long version) {
        return version == presentVersion;
    }

    int vetoes() {
        return vetoes;
    }

    long seed() {
        return seed;
    }

    @Override
    public void close() {
        history.close();
        optimizer.close();
        weights.close();
    }
}
