package io.furlong.wire;

import org.jspecify.annotations.Nullable;

/** A field that a body must have; JSON can leave it out, the records can't. */
final class RequiredField {
    private RequiredField() {}

    static void check(String field, @Nullable String value) {
        if (value == null) {
            throw new IllegalArgumentException(field + " is missing, a string is needed");
        }
    }
}
