package io.furlong.control;

import java.time.Instant;

/**
 * How a registration is to end.
 *
 * @param deadline when draining turns into {@link Mode#NOW}
 * @param why      one line; empty text when there is nothing to say
 */
public record Retirement(Mode mode, Cause cause, Instant since, Instant deadline, String why) {
    /** What becomes of what is under way. */
    public enum Mode {
        /** Finish the step being accumulated if all its groups are admitted, publish, export. */
        DRAIN,
        /** Abort its requests, drop its gradient, export the last committed version. */
        NOW
    }

    /** Who ended it. */
    public enum Cause {
        /** Someone asked. */
        USER,
        /** A stop rule was met. */
        FINISHED,
        /** A fault of its own. */
        FAULT
    }

    public Retirement now() {
        return new Retirement(Mode.NOW, cause, since, deadline, why);
    }
}
