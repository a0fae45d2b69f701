package io.furlong.rollout.reward;

import io.furlong.core.Prompt;
import io.furlong.core.RewardFunction;
import io.furlong.core.Sample;
import io.furlong.rollout.reward.MathScorer.Answer;
import io.furlong.rollout.reward.MathScorer.Side;
import io.furlong.rollout.reward.MathScorer.Verdict;
import java.util.Optional;

/**
 * {@code math}: 1 if the response's answer is the label's, as mathematics; 0 otherwise. Where a text gives its answer is said in
 * {@link BoxedAnswer}, what counts as the same in {@link MathScorer}. A label that can't be understood skips the row.
 */
public final class MathReward implements RewardFunction {
    @Override
    public String name() {
        return "math";
    }

    @Override
    public double score(Prompt prompt, Sample sample) throws UnscorableException {
        String gold = BoxedAnswer.of(prompt.label()).orElse(prompt.label());
        Optional<String> prediction = BoxedAnswer.of(sample.text());
        Verdict v = MathScorer.compare(prediction.orElse(""), gold);
        if (v.gold() == Side.UNPARSED) {
            throw new UnscorableException("gold_unparseable", "row " + prompt.row() + ": the label '" + prompt.label()
                    + "' isn't an answer that the reward math understands");
        }
        return v.answer() == Answer.SAME ? 1 : 0;
    }
}
