package io.furlong.core;

/**
 * In slot mode, where weights change under a running sequence: from output token {@code fromToken} on, {@code version} made the tokens.
 *
 * @param fromToken zero-based index of the first output token made by these weights
 * @param version   the version as the engine reports it
 */
public record VersionSpan(int fromToken, long version) {}
