package io.furlong.core;

/**
 * Which weights made a sample.
 *
 * @param registration the registration that owns the weights
 * @param version      the number given to this state of the weights; rises strictly per registration, never given twice
 * @param step         optimizer steps taken when the weights were made
 * @param digest       SHA-256 of the weights, 64 lower-case hex digits
 * @param servedName   the adapter name that engines know the weights by
 */
public record PolicyStamp(RegistrationId registration, long version, long step, String digest, String servedName) {
    public PolicyStamp {
        if (version < 1) {
            throw new IllegalArgumentException("version starts at 1, got " + version);
        }
        if (step < 0) {
            throw new IllegalArgumentException("step must not be negative, got " + step);
        }
        if (!digest.matches("[0-9a-f]{64}")) {
            throw new IllegalArgumentException("digest must be 64 lower-case hex digits, got '" + digest + "'");
        }
        if (servedName.isBlank()) {
            throw new IllegalArgumentException("served name must not be blank");
        }
    }

    /** The immutable served name of one version: {@code gsm8k.<12 hex of registration>@v13-<12 hex of digest>}. */
    public static String versionedName(String adapter, RegistrationId registration, long version, String digest) {
        return adapter + "." + registration.shortHex() + "@v" + version + "-" + digest.substring(0, 12);
    }

    /** The served name of a slot, whose weights are replaced in place: {@code furlong_slot_3}. */
    public static String slotName(int slot) {
        return "furlong_slot_" + slot;
    }

    /** The prefix-cache namespace of requests under this stamp: {@code {adapter}.{registration}:v{version}}. */
    public String extraKey(String adapter) {
        return adapter + "." + registration.hex() + ":v" + version;
    }
}
