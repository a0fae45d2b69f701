/**
 * How weights move: one optimizer and one learning-rate schedule an adapter, nothing shared between adapters.
 * State is plain tensors by name, so that a checkpoint can hold all of it.
 * Start reading at {@link io.furlong.train.optim.AdamW}.
 */
@NullMarked
package io.furlong.train.optim;

import org.jspecify.annotations.NullMarked;
