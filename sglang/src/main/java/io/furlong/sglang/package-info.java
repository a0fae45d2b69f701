/**
 * SGLang as Furlong sees it: a client for one engine, the fleet of them, requests that go to an engine which holds the right weights,
 * and the publishing of new weights. Works on released SGLang and on the embedded engine, behind SGLang's router or directly.
 * Start reading at {@link io.furlong.sglang.Fleet}, {@link io.furlong.sglang.SglangSampler} and {@link io.furlong.sglang.FleetPublisher}.
 */
@NullMarked
package io.furlong.sglang;

import org.jspecify.annotations.NullMarked;
