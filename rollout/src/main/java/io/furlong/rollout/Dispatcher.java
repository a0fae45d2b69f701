package io.furlong.rollout;

import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;
import java.util.TreeMap;
import java.util.HashMap;
import java.util.Map;

/**
 * Admits groups: adapters with room take turns in proportion to their weights, one group a turn, while the engines have places.
 * It decides and never waits; {@link #next} says nothing can be admitted, {@link #wakeAt} when to ask again at the latest.
 * Guarded by the lock of {@link Streams}.
 */
final class Dispatcher {
    private final RequestLimit limit;
    private final Pins pins;
    private final Streams streams;
    private final Turns<AdapterStream> turns = new Turns<>();
    private final Map<AdapterStream, Instant> pausing = new HashMap<>();

    Dispatcher(Streams streams, RequestLimit limit, Pins pins) {
        this.streams = streams;
        this.limit = limit;
        this.pins = pins;
        streams.watch(this::look);
    }

    /** A stream has changed: it takes part exactly if it could admit. */
    private void look(AdapterStream s) {
        if (s.isRetired()) {
            turns.leave(s);
            pausing.remove(s);
            return;
        }
        Optional<Instant> until = s.pausedUntil();
        if (until.isEmpty()) {
            turns.pause(s);
            pausing.remove(s);
        } else if (until.get().equals(Instant.MIN)) {
            turns.join(s);
            streams.admissible.signal();
        } else {
            turns.pause(s);
            pausing.put(s, until.get());
            streams.admissible.signal();
        }
    }

    /** The next group, pinned and with its first requests reserved; empty when there is no room, no prompt or no place. */
    Optional<Attempt> next(Instant now) {
        rejoin(now);
        Optional<AdapterStream> turn = turns.next();
        if (turn.isEmpty()) {
            return Optional.empty();
        }
        AdapterStream s = turn.get();
        int n = s.config().nSamplesPerPrompt();
        int reserved = limit.reserve(n);
        if (reserved == 0) {
            return Optional.empty();
        }
        Attempt a = s.admit(reserved);
        pins.pin(a.stamp);
        turns.served(s, n / s.config().weight());
        look(s);
        return Optional.of(a);
    }

    private void rejoin(Instant now) {
        if (pausing.isEmpty()) {
            return;
        }
        pausing.entrySet().removeIf(e -> {
            boolean due = !now.isBefore(e.getValue());
            if (due) {
                turns.join(e.getKey());
            }
            return due;
        });
    }

    /** When a stream that waits for the engines to come back may be asked again; {@link Instant#MAX} when none does. */
    Instant wakeAt() {
        return pausing.values().stream().min(Comparator.naturalOrder()).orElse(Instant.MAX);
    }
}
