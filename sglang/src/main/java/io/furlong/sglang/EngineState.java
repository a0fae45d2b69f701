package io.furlong.sglang;

/**
 * How far an engine can be relied on; only a ready one gets traffic.
 *
 * <pre>
 * JOINING → READY ⇄ SUSPECT        any → OUT → JOINING, once it has been restarted
 * </pre>
 */
public enum EngineState {
    /** Found; does not hold every version in force or pinned yet, or holds them no more. */
    JOINING,
    /** Healthy, holds every version in force or pinned. */
    READY,
    /** Failed several times in a row, or missed a deadline: looked at again after a pause. */
    SUSPECT,
    /** Unfit until it is restarted: wrong answers under an adapter, a hung unload, too many adapters that can't be unloaded. */
    OUT
}
