package io.furlong.control;

import io.furlong.core.StepCommit;
import java.time.Instant;
import java.util.Optional;

/** One committed version of a registration, as the store keeps it. */
public record VersionRow(StepCommit commit, State state, Instant committedAt, Optional<Instant> inForceAt) {
    /** Where a version stands. */
    public enum State {
        /** Committed; not in force yet. After a restart it is pushed again, same number and digest. */
        PREPARED,
        /** The engines serve it. */
        IN_FORCE,
        /** A later version came into force; its files may be kept. */
        SUPERSEDED,
        /** Its files are gone. */
        REMOVED
    }
}
