/**
 * What Furlong's speed is, measured: {@code furlong bench …}. Each bench is one class that returns {@link io.furlong.bench.Figure}s;
 * {@link io.furlong.bench.BenchCommand} runs them and prints machine and versions beside the numbers.
 * What the Python stack does with the same shapes is measured by {@code bench/peers/measure.py}.
 */
@NullMarked
package io.furlong.bench;

import org.jspecify.annotations.NullMarked;
