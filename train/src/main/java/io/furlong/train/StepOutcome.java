package io.furlong.train;

/** What became of one adapter's gradient in a train call. */
public sealed interface StepOutcome {
    /**
     * Its batch isn't complete yet: the gradient waits for more.
     *
     * @param groups accumulated so far
     */
    record Accumulated(int groups) implements StepOutcome {}

    /**
     * It took an optimizer step.
     *
     * @param step     steps taken, this one included
     * @param loss     mean over the samples of the step
     * @param gradNorm global norm of the mean gradient before clipping
     * @param lr       learning rate of this step
     * @param groups   groups the step was made of
     * @param samples  samples the gradient was divided by
     */
    record Stepped(long step, double loss, double gradNorm, double lr, int groups, int samples) implements StepOutcome {}

    /**
     * Its gradient, loss or next weights were not finite, or its samples can't be computed: no step, no schedule; the gradient is dropped and
     * optimizer and weights are as before.
     *
     * @param reason one line
     * @param inARow vetoes without a step between, this one included; at {@link Trainer#VETOES_THAT_FAIL} the adapter should fail
     * @param groups groups that were lost
     */
    record Vetoed(String reason, int inARow, int groups) implements StepOutcome {}
}
