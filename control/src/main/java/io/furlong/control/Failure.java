package io.furlong.control;

import java.time.Instant;

/**
 * @param reason what broke, one line
 * @param remedy what a person can do about it, one line
 */
public record Failure(String reason, String remedy, Instant at) {}
