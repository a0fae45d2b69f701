/**
 * Runs that die: a kill before and after every durable move, and at random moments. What is started again on the same store must end
 * where a run that nothing disturbed ends.
 */
@NullMarked
package io.furlong.it.crash;

import org.jspecify.annotations.NullMarked;
