package io.furlong.sglang;

import java.net.URI;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * One engine as it stood at one instant.
 *
 * @param reason    why it is not ready; empty text when it is
 * @param inFlight  generations sent straight to it and not answered yet
 * @param loaded    adapters on it
 * @param tainted   those of them that must never be unloaded, since their use count may have leaked
 * @param leaked    those of the tainted that nothing needs any more
 * @param facts     what it says about itself; empty before its first answer
 * @param canaryGap largest difference between its probe log-probs and the trainer's at the last load, nats
 */
public record EngineView(URI url, EngineState state, String reason, int inFlight, int loaded, int tainted, int leaked,
                         Optional<EngineFacts> facts, OptionalDouble canaryGap) {}
