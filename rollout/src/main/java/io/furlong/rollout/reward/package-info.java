/**
 * Scores of responses: the rewards that come with Furlong, how a reward is found by name, and how one is run so that it can hang,
 * throw or return nonsense without hurting anybody but its own adapter.
 * An own reward implements {@link io.furlong.core.RewardFunction} and is listed for {@code ServiceLoader}, or allow-listed by class.
 */
@NullMarked
package io.furlong.rollout.reward;

import org.jspecify.annotations.NullMarked;
