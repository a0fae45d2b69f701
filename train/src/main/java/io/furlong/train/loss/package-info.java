/**
 * What is minimised: policy-gradient losses, advantages and KL estimates, one a file.
 * Each is a plain function of log-probs; sums and weights are the caller's, so that a loss means the same in any micro-batch.
 * Start reading at {@link io.furlong.train.loss.PolicyLoss}.
 */
@NullMarked
package io.furlong.train.loss;

import org.jspecify.annotations.NullMarked;
