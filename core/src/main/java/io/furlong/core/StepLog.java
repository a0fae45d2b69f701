package io.furlong.core;

import java.util.Optional;

/** The durable record of steps and versions. */
public interface StepLog {
    /**
     * The number for the next state of the weights: one more than the highest ever given for this registration, failed
     * pushes, crashes and rollbacks included. Directories of earlier numbers without a committed row are gone before it returns.
     */
    long nextVersion(RegistrationId registration);

    /**
     * Commits one step, all or nothing.
     *
     * @throws StaleRegistrationException when the registration is no longer the live one under its name: the step is dropped
     */
    void commit(StepCommit commit) throws StaleRegistrationException;

    /** The version is in force on the engines: recorded, then seen by readers. */
    void inForce(PolicyStamp stamp) throws StaleRegistrationException;

    /** The last committed step of a registration. */
    Optional<StepCommit> last(RegistrationId registration);

    /** The registration is over; nothing may be committed for it. */
    final class StaleRegistrationException extends Exception {
        private static final long serialVersionUID = 1L;

        public StaleRegistrationException(String adapter, RegistrationId registration) {
            super("adapter '" + adapter + "': registration " + registration + " has ended");
        }
    }
}
