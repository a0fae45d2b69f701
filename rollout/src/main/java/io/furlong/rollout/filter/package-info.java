/**
 * Decides which scored groups are worth training on.
 * An own filter implements {@link io.furlong.core.GroupFilter} and is listed for {@code ServiceLoader}.
 * How many groups a step may lose to a filter is the adapter's to say; the stream keeps count.
 */
@NullMarked
package io.furlong.rollout.filter;

import org.jspecify.annotations.NullMarked;
