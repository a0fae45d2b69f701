package io.furlong.sglang;

/** No fleet to work with: one line for people. */
public final class FleetException extends Exception {
    private static final long serialVersionUID = 1L;

    FleetException(String message) {
        super(message);
    }
}
