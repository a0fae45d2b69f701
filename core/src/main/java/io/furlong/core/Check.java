package io.furlong.core;

/** Checks of fields that people write; the message names field, value and what would be right. */
final class Check {
    private Check() {}

    static void field(String field, Object value, boolean right, String accepted) {
        if (!right) {
            throw new ConfigException(field, value, accepted);
        }
    }
}
