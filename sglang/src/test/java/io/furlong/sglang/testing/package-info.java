/**
 * A stand-in for SGLang that is scripted per test and has SGLang's quirks: leaking counts, unloads that block, aborts that answer 200,
 * adapters forgotten by a restart. Computes no model: log-probs come from a hash of token, position and adapter digest.
 * Start reading at {@link io.furlong.sglang.testing.SglangDouble}.
 */
@NullMarked
package io.furlong.sglang.testing;

import org.jspecify.annotations.NullMarked;
