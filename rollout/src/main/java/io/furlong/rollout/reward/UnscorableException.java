package io.furlong.rollout.reward;

/**
 * Thrown by a reward when a row can't be scored whatever the response, because its label can't be understood: the row is skipped
 * and counted, never rewarded.
 */
public final class UnscorableException extends Exception {
    private static final long serialVersionUID = 1L;
    private final String reason;

    /** @param reason a short word, used as a metric label, such as {@code gold_unparseable} */
    public UnscorableException(String reason, String message) {
        super(message);
        this.reason = reason;
    }

    public String reason() {
        return reason;
    }
}
