package io.furlong.train;

/**
 * How an adapter stands after it was attached.
 *
 * @param step       optimizer steps taken
 * @param parameters trained numbers
 */
public record Attached(long step, long parameters) {}
