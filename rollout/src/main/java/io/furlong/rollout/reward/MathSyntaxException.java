package io.furlong.rollout.reward;

/** A text isn't an expression that the scorer understands, or takes more work than it is given. Never leaves the scorer. */
final class MathSyntaxException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    MathSyntaxException(String message) {
        super(message, null, false, false);
    }
}
