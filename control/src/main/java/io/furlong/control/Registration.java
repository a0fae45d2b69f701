package io.furlong.control;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterState;
import io.furlong.core.RegistrationId;
import java.time.Instant;
import java.util.Optional;

/**
 * Everything that is known of one registration: what readers see as an {@link Adapter}, and what only the control plane needs.
 *
 * @param ordinal      order of registration over the whole store
 * @param slot         −1 when it holds none
 * @param accumulated  groups accumulated towards the next step; not durable
 * @param heldUntil    when it goes on by itself, if its tenant's quota of the day is used up
 * @param activatedAt  when its first version came into force
 */
public record Registration(RegistrationId id, String name, String tenant, long ordinal, int slot, AdapterState state,
                           AdapterConfig config, Desired desired, Progress progress, int accumulated,
                           Optional<Retirement> retirement, Optional<Failure> failure, Optional<Instant> heldUntil, Instant registeredAt,
                           Optional<Instant> activatedAt, Optional<Instant> endedAt) {
    /** As other rooms see it. */
    public Adapter adapter() {
        return new Adapter(name, id, slot, state, progress.inForce(), progress.step(), progress.targetStep(), accumulated, config,
                reason(), retirement.filter(r -> r.mode() == Retirement.Mode.DRAIN).isPresent() ? Adapter.Ending.DRAIN : Adapter.Ending.NOW);
    }

    /** Why it failed, or is ending otherwise than by finishing. */
    public String reason() {
        return failure.map(Failure::reason).or(() -> retirement.map(Retirement::why)).orElse("");
    }

    /** True while it may still commit a step: not at all while it is aborted, and only to finish its step while it drains. */
    public boolean mayCommit() {
        return Lifecycle.on(state, Lifecycle.Trigger.COMMIT) instanceof Lifecycle.Move.To
                && retirement.map(r -> r.mode() == Retirement.Mode.DRAIN).orElse(true);
    }

    public Registration withState(AdapterState next) {
        return new Registration(id, name, tenant, ordinal, next.holdsSlot() ? slot : -1, next, config, desired, progress, accumulated,
                retirement, failure, heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withSlot(int place) {
        return new Registration(id, name, tenant, ordinal, place, state, config, desired, progress, accumulated, retirement, failure,
                heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withConfig(AdapterConfig c) {
        return new Registration(id, name, tenant, ordinal, slot, state, c, desired, progress, accumulated, retirement, failure,
                heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withDesired(Desired d) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, d, progress, accumulated, retirement, failure,
                heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withProgress(Progress p) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, desired, p, accumulated, retirement, failure,
                heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withAccumulated(int groups) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, desired, progress, groups, retirement, failure,
                heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withRetirement(Retirement r) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, desired, progress, accumulated, Optional.of(r), failure,
                heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration withFailure(Failure f) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, desired, progress, accumulated, retirement,
                Optional.of(f), heldUntil, registeredAt, activatedAt, endedAt);
    }

    public Registration activated(Instant at) {
        return activatedAt.isPresent() ? this : new Registration(id, name, tenant, ordinal, slot, state, config, desired, progress,
                accumulated, retirement, failure, heldUntil, registeredAt, Optional.of(at), endedAt);
    }

    public Registration ended(Instant at) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, desired, progress, 0, retirement, failure,
                heldUntil, registeredAt, activatedAt, Optional.of(at));
    }

    public Registration held(Optional<Instant> until) {
        return new Registration(id, name, tenant, ordinal, slot, state, config, desired, progress, accumulated, retirement, failure, until,
                registeredAt, activatedAt, endedAt);
    }
}
