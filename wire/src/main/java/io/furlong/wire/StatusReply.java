package io.furlong.wire;

/** Answer of {@code /pause_generation} and {@code /continue_generation}. */
public record StatusReply(String message, String status) {}
