package io.furlong.core;

/** Something a person wrote can't be used. One line: the field, the value seen, and what would be accepted. */
public final class ConfigException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;
    private final String field;

    public ConfigException(String field, Object value, String accepted) {
        super(field + ": got " + (value instanceof CharSequence ? "'" + value + "'" : value) + ", must be " + accepted);
        this.field = field;
    }

    public ConfigException(String field, String problem) {
        super(field + ": " + problem);
        this.field = field;
    }

    /** Dotted key of the field at fault, such as {@code sampling.temperature}. */
    public String field() {
        return field;
    }
}
