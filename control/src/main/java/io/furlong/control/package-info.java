/**
 * The registry of adapters: which are registered, where each stands in its life, and what of it is durable.
 * One writer, immutable snapshots for readers, a store behind it that is written before any reader sees a change.
 * Start reading at {@link io.furlong.control.Lifecycle} and {@link io.furlong.control.AdapterRegistry}.
 */
@NullMarked
package io.furlong.control;

import org.jspecify.annotations.NullMarked;
