package io.furlong.core;

import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * One registration of an adapter name: 32 lower-case hex digits, drawn at random and never given twice, so that a name
 * which is registered again can't be mistaken for its predecessor. Nothing that is trained or sampled depends on it.
 */
public record RegistrationId(String hex) implements Comparable<RegistrationId> {
    private static final SecureRandom RANDOM = new SecureRandom();

    public RegistrationId {
        if (!hex.matches("[0-9a-f]{32}")) {
            throw new IllegalArgumentException("registration id must be 32 lower-case hex digits, got '" + hex + "'");
        }
    }

    public static RegistrationId random() {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return new RegistrationId(HexFormat.of().formatHex(bytes));
    }

    /** The first 12 digits, as used in served names and directories. */
    public String shortHex() {
        return hex.substring(0, 12);
    }

    @Override
    public int compareTo(RegistrationId other) {
        return hex.compareTo(other.hex);
    }

    @Override
    public String toString() {
        return hex;
    }
}
