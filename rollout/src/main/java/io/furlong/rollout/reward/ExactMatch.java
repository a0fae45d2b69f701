package io.furlong.rollout.reward;

import io.furlong.core.Prompt;
import io.furlong.core.Sample;

/** {@code exact_match}: 1 if the response equals the label, white space at both ends aside; 0 otherwise. */
public final class ExactMatch implements InstantReward {
    @Override
    public String name() {
        return "exact_match";
    }

    @Override
    public double score(Prompt prompt, Sample sample) {
        return sample.text().strip().equals(prompt.label().strip()) ? 1 : 0;
    }
}
