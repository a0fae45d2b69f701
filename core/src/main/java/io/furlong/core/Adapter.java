package io.furlong.core;

import java.util.Optional;

/**
 * Immutable view of one registration at one epoch of the registry.
 *
 * @param slot        the slot it holds; −1 when none
 * @param inForce     the weights that new groups pin; empty until the first version is in force
 * @param step        optimizer steps taken (committed)
 * @param targetStep  the step at which it ends; {@code Integer.MAX_VALUE} when only other rules end it
 * @param accumulated groups accumulated by the trainer towards the next step
 * @param reason      why it failed, or ended otherwise than by finishing; empty text when nothing to say
 * @param ending      what becomes of what it has under way, once it is {@link AdapterState#RETIRING}
 */
public record Adapter(String name, RegistrationId registration, int slot, AdapterState state, Optional<PolicyStamp> inForce,
                      long step, long targetStep, int accumulated, AdapterConfig config, String reason, Ending ending) {
    /** How a registration ends. */
    public enum Ending {
        /** A step whose groups are all under way is finished first. */
        DRAIN,
        /** Everything under way is dropped. */
        NOW
    }

    /** One that, if it is ending, ends now. */
    public Adapter(String name, RegistrationId registration, int slot, AdapterState state, Optional<PolicyStamp> inForce, long step, long targetStep,
                   int accumulated, AdapterConfig config, String reason) {
        this(name, registration, slot, state, inForce, step, targetStep, accumulated, config, reason, Ending.NOW);
    }

    /** The step whose weights are in force on the engines; less than {@link #step} while a publish runs or has failed. */
    public long stepInForce() {
        return inForce.map(PolicyStamp::step).orElse(0L);
    }

    /** True when a request may be sent for it now. */
    public boolean sampleable() {
        return (state.sampleable() || draining()) && inForce.isPresent();
    }

    /** True while it is ending and may still finish a step; nothing new is admitted. */
    public boolean draining() {
        return state == AdapterState.RETIRING && ending == Ending.DRAIN;
    }

    /** True when new groups may be admitted; not while weights are in force that a rollback has left behind. */
    public boolean admits() {
        return state == AdapterState.ACTIVE && inForce.isPresent() && step < targetStep && stepInForce() <= step;
    }

    /** Most groups that may be open (generating, buffered, collected, accumulated) now, by the rule of bounded staleness. */
    public long room() {
        long steps = Math.min(config.maxStaleness() + 1 - (step - stepInForce()), targetStep - step);
        return Math.max(0, steps) * config.rolloutBatchSize();
    }
}
