package io.furlong.rollout;

import io.furlong.core.Group;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.TrainBatch;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Puts train batches together. Adapters take turns in proportion to their weights, a unit of groups a turn
 * ({@code max(data parallel, n) / n}), never past what their next step still lacks; whose turn it is survives batches. A batch
 * goes when it is full, when nobody could add to it, or {@code max_coalesce_wait} after its first group; deterministic runs take
 * whole steps of an adapter and wait for nothing more. Groups of an adapter that has ended meanwhile are left out.
 *
 * <p>It decides and never waits: {@link #poll} says nothing is due, {@link #wakeAt} when to ask again at the latest. Guarded by
 * the lock of {@link Streams}.
 */
final class BatchCollector {
    private final RolloutLimits limits;
    private final Streams streams;
    private final Turns<AdapterStream> turns = new Turns<>();
    private final Set<AdapterStream> contributors = new HashSet<>();
    private final Map<AdapterStream, List<Attempt>> assembled = new LinkedHashMap<>();
    private int samples;
    private Instant begun = Instant.MIN;
    private Instant firstGroup = Instant.MAX;

    BatchCollector(Streams streams, RolloutLimits limits) {
        this.streams = streams;
        this.limits = limits;
        streams.watch(this::look);
    }

    /** A stream has changed: it takes part exactly if a pop would find something. */
    private void look(AdapterStream s) {
        if (s.isRetired()) {
            turns.leave(s);
            if (contributors.remove(s)) {
                streams.collectable.signal();
            }
            return;
        }
        if (s.takeable() > 0) {
            turns.join(s);
            streams.collectable.signal();
        } else {
            turns.pause(s);
        }
        if (s.mayContribute()) {
            contributors.add(s);
        } else if (contributors.remove(s) && contributors.isEmpty()) {
            streams.collectable.signal();
        }
    }

    /** A trainer asks for a batch from now on. */
    void begin(Instant now) {
        begun = now;
    }

    /** The batch that is due now; an empty one when nothing came in time. */
    Optional<TrainBatch> poll(Instant now, RegistrySnapshot snapshot) {
        boolean full = fill(now);
        leaveOutEnded();
        if (samples > 0) {
            boolean due = full || contributors.isEmpty() || limits.schedule() == RolloutLimits.Schedule.DETERMINISTIC
                    || !now.isBefore(firstGroup.plus(limits.maxCoalesceWait()));
            return due ? Optional.of(ship(snapshot)) : Optional.empty();
        }
        firstGroup = Instant.MAX;
        return now.isBefore(begun.plus(limits.emptyBatchTimeout())) ? Optional.empty()
                : Optional.of(new TrainBatch(List.of(), Set.of(), snapshot.epoch()));
    }

    /** When {@link #poll} would answer without any further event. */
    Instant wakeAt() {
        return samples > 0 ? firstGroup.plus(limits.maxCoalesceWait()) : begun.plus(limits.emptyBatchTimeout());
    }

    /** Pops until nothing is left to pop, or no more fits: then true. */
    private boolean fill(Instant now) {
        while (true) {
            Optional<AdapterStream> turn = turns.next();
            if (turn.isEmpty()) {
                return samples >= limits.globalBatchSize();
            }
            AdapterStream s = turn.get();
            int groups = s.takeable();
            if (groups == 0) {
                turns.pause(s);
                continue;
            }
            int size = groups * s.config().nSamplesPerPrompt();
            if (samples > 0 && samples + size > limits.globalBatchSize()) {
                return true;
            }
            assembled.computeIfAbsent(s, k -> new ArrayList<>()).addAll(s.take(groups));
            if (samples == 0) {
                firstGroup = now;
            }
            samples += size;
            turns.served(s, size / s.config().weight());
            look(s);
        }
    }

    /** An adapter may have retired or rolled back since its groups were popped. */
    private void leaveOutEnded() {
        samples = 0;
        assembled.values().removeIf(attempts -> {
            attempts.removeIf(a -> !a.at(Ledger.Place.TRAINING));
            attempts.forEach(a -> samples += Objects.requireNonNull(a.group).samples().size());
            return attempts.isEmpty();
        });
    }

    private TrainBatch ship(RegistrySnapshot snapshot) {
        List<Group> groups = new ArrayList<>();
        Set<String> stepping = new HashSet<>();
        assembled.forEach((s, attempts) -> {
            attempts.forEach(a -> groups.add(Objects.requireNonNull(a.group)));
            if (s.stepComplete()) {
                stepping.add(s.name());
            }
        });
        assembled.clear();
        samples = 0;
        firstGroup = Instant.MAX;
        return new TrainBatch(groups, stepping, snapshot.epoch());
    }
}
