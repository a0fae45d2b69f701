package io.furlong.control;

import java.util.List;

/** A request that the registry does not carry out. Nothing has changed. One line a person can act on. */
public final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    /** What kind of no it is. */
    public enum Kind {
        /** The request itself is wrong. */
        INVALID,
        /** There is no such adapter. */
        UNKNOWN,
        /** It clashes with what is there: a name, a directory, a state. */
        CONFLICT,
        /** No slot or engine place is free. */
        FULL,
        /** The tenant's quota is used up. */
        QUOTA,
        /** It was to hold only for a state that is no longer so. */
        CHANGED
    }

    private final Kind kind;
    private final List<String> problems;

    public RefusedException(Kind kind, String message) {
        this(kind, List.of(message));
    }

    /** @param problems one line each, at least one */
    public RefusedException(Kind kind, List<String> problems) {
        super(String.join("; ", problems));
        this.kind = kind;
        this.problems = List.copyOf(problems);
    }

    public Kind kind() {
        return kind;
    }

    public List<String> problems() {
        return problems;
    }
}
