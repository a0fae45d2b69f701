package io.furlong.core;

/** How one attempt (one dispatch of one group) ended. Every attempt ends in exactly one. */
public sealed interface Outcome {
    /** Part of a committed optimizer step. */
    record Trained() implements Outcome {}

    /** A filter refused it. The row counts as finished. */
    record Filtered(String reason) implements Outcome {}

    /** Finished, but older than {@code max_staleness} allows. The prompt goes back to the head. */
    record Stale() implements Outcome {}

    /** The adapter was no longer sampleable, or ended before the step. */
    record Retired() implements Outcome {}

    /** Interrupted through no fault of its own; the prompt goes back to the head. */
    record Requeued(String reason) implements Outcome {}

    /** Given up: retries used up, or the step was vetoed. The row counts as finished. */
    record Failed(String reason) implements Outcome {}
}
