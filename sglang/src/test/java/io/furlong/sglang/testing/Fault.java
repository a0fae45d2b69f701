package io.furlong.sglang.testing;

import java.util.concurrent.CountDownLatch;

/** What goes wrong with one request. */
public sealed interface Fault {
    /** Answered with this instead. */
    record Status(int code, String body) implements Fault {}

    /** The connection ends before the answer. */
    record Drop() implements Fault {}

    /** The connection ends in the middle of the answer's body. */
    record DropMidway() implements Fault {}

    /** No answer until the latch opens; then the ordinary one. */
    record Hang(CountDownLatch until) implements Fault {}

    /** The answer is the ordinary one with its body put through this. */
    record Alter(java.util.function.UnaryOperator<String> body) implements Fault {}

    /** An ordinary answer. */
    record None() implements Fault {}
}
