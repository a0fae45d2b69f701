package io.furlong.control;

import io.furlong.core.AdapterState;

/**
 * What may happen to a registration in each state: one exhaustive table. A fault passes through RETIRING and CLEANUP like
 * any other end, so that requests are aborted and the slot is cleared before name and slot come free.
 */
public final class Lifecycle {
    private Lifecycle() {}

    /** What happens to a registration. */
    public enum Trigger {
        /** A slot came free for it. */
        SLOT,
        /** A step was committed; in RETIRING only while draining. */
        COMMIT,
        /** A version is in force on the engines. */
        IN_FORCE,
        PAUSE,
        RESUME,
        RETIRE,
        /** Something of its own is broken. */
        FAIL,
        /** Nothing of it runs any more. */
        STOPPED,
        /** Exported and cleared, after an end that was asked for. */
        CLEANED,
        /** Exported and cleared, after a fault. */
        CLEANED_AFTER_FAULT
    }

    /** What a trigger does in a state. */
    public sealed interface Move {
        /** Goes to a state; it may be the same one. */
        record To(AdapterState state) implements Move {}

        /** Nothing happens and nothing is wrong: the trigger asks for what is so already. */
        record Already() implements Move {}

        /** Not possible here. The text completes "adapter 'x' …". */
        record Refused(String why) implements Move {}
    }

    public static Move on(AdapterState state, Trigger trigger) {
        return switch (state) {
            case QUEUED -> switch (trigger) {
                case SLOT -> to(AdapterState.PENDING);
                case RETIRE -> to(AdapterState.COMPLETED);
                case FAIL -> to(AdapterState.FAILED);
                case COMMIT, IN_FORCE, PAUSE, RESUME, STOPPED, CLEANED, CLEANED_AFTER_FAULT ->
                        refused("is queued for a slot");
            };
            case PENDING -> switch (trigger) {
                case COMMIT -> to(AdapterState.PENDING);
                case IN_FORCE -> to(AdapterState.ACTIVE);
                case RETIRE, FAIL -> to(AdapterState.RETIRING);
                case SLOT, PAUSE, RESUME, STOPPED, CLEANED, CLEANED_AFTER_FAULT ->
                        refused("is pending: its first version is not in force yet");
            };
            case ACTIVE -> switch (trigger) {
                case COMMIT, IN_FORCE -> to(AdapterState.ACTIVE);
                case PAUSE -> to(AdapterState.PAUSED);
                case RESUME -> new Move.Already();
                case RETIRE, FAIL -> to(AdapterState.RETIRING);
                case SLOT, STOPPED, CLEANED, CLEANED_AFTER_FAULT -> refused("is active");
            };
            case PAUSED -> switch (trigger) {
                case COMMIT, IN_FORCE -> to(AdapterState.PAUSED);
                case PAUSE -> new Move.Already();
                case RESUME -> to(AdapterState.ACTIVE);
                case RETIRE, FAIL -> to(AdapterState.RETIRING);
                case SLOT, STOPPED, CLEANED, CLEANED_AFTER_FAULT -> refused("is paused");
            };
            case RETIRING -> switch (trigger) {
                case COMMIT, IN_FORCE, RETIRE, FAIL -> to(AdapterState.RETIRING);
                case STOPPED -> to(AdapterState.CLEANUP);
                case SLOT, PAUSE, RESUME, CLEANED, CLEANED_AFTER_FAULT -> refused("is retiring");
            };
            case CLEANUP -> switch (trigger) {
                case RETIRE, STOPPED -> new Move.Already();
                case FAIL -> to(AdapterState.CLEANUP);
                case CLEANED -> to(AdapterState.COMPLETED);
                case CLEANED_AFTER_FAULT -> to(AdapterState.FAILED);
                case SLOT, COMMIT, IN_FORCE, PAUSE, RESUME -> refused("is being cleaned up");
            };
            case COMPLETED -> switch (trigger) {
                case RETIRE, STOPPED, CLEANED -> new Move.Already();
                case SLOT, COMMIT, IN_FORCE, PAUSE, RESUME, FAIL, CLEANED_AFTER_FAULT -> refused("has completed");
            };
            case FAILED -> switch (trigger) {
                case RETIRE, FAIL, STOPPED, CLEANED_AFTER_FAULT -> new Move.Already();
                case SLOT, COMMIT, IN_FORCE, PAUSE, RESUME, CLEANED -> refused("has failed");
            };
        };
    }

    private static Move to(AdapterState state) {
        return new Move.To(state);
    }

    private static Move refused(String why) {
        return new Move.Refused(why);
    }
}
