/**
 * Makes the tiny base model from nothing: a synthetic corpus of small text tasks in which each task is done in two ways, right and
 * systematically wrong, and a plain language model trained on it. Reinforcement learning can then be seen to turn it round.
 * Start reading at {@link io.furlong.train.pretrain.Task} and {@link io.furlong.train.pretrain.Pretrainer}.
 */
@NullMarked
package io.furlong.train.pretrain;

import org.jspecify.annotations.NullMarked;
