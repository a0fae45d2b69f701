/**
 * From prompts to groups to batches: admits groups within the bound of staleness, has them generated, scored and filtered,
 * accounts for every attempt, and hands whole batches to the trainer.
 * {@link io.furlong.rollout.Rollout} is the way in; {@link io.furlong.rollout.AdapterStream} owns what one registration has open.
 */
@NullMarked
package io.furlong.rollout;

import org.jspecify.annotations.NullMarked;
