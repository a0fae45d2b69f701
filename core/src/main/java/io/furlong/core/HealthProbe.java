package io.furlong.core;

/** One part's answer to "are you able to work now?". */
public interface HealthProbe {
    String name();

    Health check();

    /** @param detail one line for people */
    record Health(Status status, String detail) {
        /** Up or down. */
        public enum Status { UP, DOWN }
    }
}
