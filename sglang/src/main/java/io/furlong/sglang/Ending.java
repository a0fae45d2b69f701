package io.furlong.sglang;

/**
 * How one request on an engine ended, for its books. A released SGLang counts the requests of each adapter, leaks that count on some
 * endings, and waits for it to reach zero in an unload, for ever and with every later load behind it. So an adapter with a tainting
 * ending is never unloaded there.
 */
enum Ending {
    /** A whole answer. */
    ANSWERED(false, Health.GOOD),
    /** Aborted while it ran: an ordinary ending for the server. */
    ABORTED_RUNNING(false, Health.GOOD),
    /** Aborted while it waited: the count leaks. */
    ABORTED_WAITING(true, Health.GOOD),
    /** 4xx: the count leaks, the engine is well. */
    REFUSED(true, Health.GOOD),
    /** 400 "never been loaded": nothing was counted, and nothing is loaded. */
    UNKNOWN_ADAPTER(false, Health.GOOD),
    /** 408, 429, 503. */
    BUSY(true, Health.NEUTRAL),
    /** 5xx, an unreadable answer, an abort with a 5xx code. */
    FAULTED(true, Health.BAD),
    /** No connection: it never got there. */
    NEVER_SENT(false, Health.BAD),
    /** Timed out or cut off: who knows. */
    UNKNOWN(true, Health.BAD),
    /** Given up on by us, after an abort that had no effect. */
    WRITTEN_OFF(true, Health.NEUTRAL);

    /** What it says about the engine. */
    enum Health { GOOD, NEUTRAL, BAD }

    private final boolean tainting;
    private final Health health;

    Ending(boolean tainting, Health health) {
        this.tainting = tainting;
        this.health = health;
    }

    boolean tainting() {
        return tainting;
    }

    Health health() {
        return health;
    }

    static Ending of(EngineException.Kind kind) {
        return switch (kind) {
            case BAD_REQUEST, UNAUTHORIZED, NOT_FOUND -> REFUSED;
            case UNKNOWN_ADAPTER -> UNKNOWN_ADAPTER;
            case OVERLOADED -> BUSY;
            case SERVER_FAULT, GATEWAY, IN_STREAM, UNREADABLE -> FAULTED;
            case UNREACHABLE -> NEVER_SENT;
            case TIMED_OUT, DROPPED -> UNKNOWN;
            case CANCELLED -> WRITTEN_OFF;
        };
    }
}
