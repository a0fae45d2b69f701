package io.furlong.train;

import io.furlong.core.Group;
import io.furlong.core.Sample;

/**
 * One sample on its way through a train call.
 *
 * @param learner   who learns from it
 * @param advantage of the sample within its group
 * @param age       of its group, in optimizer steps
 * @param tokens    trained tokens, at least 1
 * @param length    tokens that the forward has to see
 */
record TrainingRow(Learner learner, Group group, Sample sample, float advantage, long age, int tokens, int length) {
    static TrainingRow of(Learner learner, Group group, Sample sample, float advantage) {
        return new TrainingRow(learner, group, sample, advantage, group.ageAt(learner.step()), sample.trainedTokens(),
                ResponseScorer.contextLength(sample));
    }
}
