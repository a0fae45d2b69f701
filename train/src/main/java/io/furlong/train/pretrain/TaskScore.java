package io.furlong.train.pretrain;

/**
 * What a model does on held-out prompts of one task; each figure is a mean over prompts at which the two ways differ.
 *
 * @param prompts     how many
 * @param right       chance of the right answer at temperature 1
 * @param mistaken    chance of the systematic mistake at temperature 1
 * @param withinEight chance that one of eight samples at temperature 1 is right
 * @param greedyRight share whose greedy answer is right
 * @param competence  share whose greedy answer is right or the systematic mistake
 */
public record TaskScore(Task task, int prompts, double right, double mistaken, double withinEight, double greedyRight, double competence) {
    /** Standard error of {@link #right} and {@link #greedyRight}, at most: that of a share near one half. */
    public double standardError() {
        return 0.5 / Math.sqrt(prompts);
    }
}
