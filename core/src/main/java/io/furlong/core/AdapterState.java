package io.furlong.core;

/**
 * Where one registration stands.
 *
 * <pre>
 * (QUEUED →) PENDING → ACTIVE ⇄ PAUSED → RETIRING → CLEANUP → COMPLETED
 *                 └───────┴────────┴──→ RETIRING → CLEANUP → FAILED
 * </pre>
 */
public enum AdapterState {
    /** Accepted, waiting for a slot. */
    QUEUED,
    /** Holds a slot; its first version is not in force yet. */
    PENDING,
    /** Samples and trains. */
    ACTIVE,
    /** Admits no new group; running groups finish, and a step that can complete does. */
    PAUSED,
    /** Ending: its requests are aborted or drained. */
    RETIRING,
    /** Nothing of it runs any more; final export, then the slot comes free. */
    CLEANUP,
    /** Ended as asked. Terminal. */
    COMPLETED,
    /** Ended by a fault, with its reason. Terminal; the last committed version stays exportable. */
    FAILED;

    /** True when requests may be sent under this adapter; while it is {@link #RETIRING} its {@link Adapter#draining} decides. */
    public boolean sampleable() {
        return this == ACTIVE || this == PAUSED;
    }

    public boolean terminal() {
        return this == COMPLETED || this == FAILED;
    }

    /** True while the registration holds a slot. */
    public boolean holdsSlot() {
        return this != QUEUED && !terminal();
    }
}
