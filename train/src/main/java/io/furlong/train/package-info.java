/**
 * The trainer: groups of many adapters in, one forward and backward for all, an optimizer step for each adapter whose batch is complete.
 * Everything an adapter owns (weights, gradient, optimizer, schedule) sits in one object and is touched on one thread; adapters share only the frozen base.
 * Start reading at {@link io.furlong.train.Trainer}.
 */
@NullMarked
package io.furlong.train;

import org.jspecify.annotations.NullMarked;
