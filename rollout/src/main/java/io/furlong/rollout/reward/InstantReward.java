package io.furlong.rollout.reward;

import io.furlong.core.RewardFunction;

/** A reward of our own that neither blocks nor takes more than microseconds, so that it needs no thread of its own. */
sealed interface InstantReward extends RewardFunction permits ExactMatch {
}
