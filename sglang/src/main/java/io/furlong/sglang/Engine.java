package io.furlong.sglang;

import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One engine's books. Everything but {@link #client} and {@link #loads} is guarded by the lock of the {@link Roster}, its only writer.
 */
final class Engine {
    final SglangClient client;
    /**
     * Held while an adapter is loaded, proven or unloaded: SGLang does one such thing at a time, and two loads of one name race. Fair, so that
     * many publishes can't keep an unload waiting, or the other way round.
     */
    final ReentrantLock loads = new ReentrantLock(true);

    EngineState state = EngineState.JOINING;
    String reason = "not looked at yet";
    final CircuitBreaker breaker;
    final Map<String, Holding> holdings = new LinkedHashMap<>();
    int inFlight;
    Optional<EngineFacts> facts = Optional.empty();
    Optional<NoiseFloor> noise = Optional.empty();
    OptionalDouble canaryGap = OptionalDouble.empty();

    Engine(SglangClient client, CircuitBreaker breaker) {
        this.client = client;
        this.breaker = breaker;
    }

    URI url() {
        return client.base();
    }

    /** An adapter that is on the engine. */
    static final class Holding {
        /** Empty for one that an earlier process of ours left there. */
        final Optional<HeldVersion> version;
        boolean tainted;
        /** Nothing needs it any more. */
        boolean dismissed;
        /** An unload of it is under way. */
        boolean unloading;
        int inFlight;

        Holding(Optional<HeldVersion> version) {
            this.version = version;
        }

        boolean leaked() {
            return dismissed && tainted;
        }
    }

    int leaked() {
        return (int) holdings.values().stream().filter(Holding::leaked).count();
    }

    EngineView view() {
        int tainted = (int) holdings.values().stream().filter(h -> h.tainted).count();
        return new EngineView(url(), state, reason, inFlight, holdings.size(), tainted, leaked(), facts, canaryGap);
    }

    @Override
    public String toString() {
        return url().toString();
    }
}
