/**
 * The embedded engine: serves a base model and many LoRA adapters at once, over SGLang's HTTP API or by direct calls.
 * {@link io.furlong.engine.Scheduler} is the heart and fits on a page; {@link io.furlong.engine.Engine} owns the thread that it runs on.
 * HTTP runs on virtual threads that only wait; every tensor and all mutable state belong to the engine's thread.
 */
@NullMarked
package io.furlong.engine;

import org.jspecify.annotations.NullMarked;
