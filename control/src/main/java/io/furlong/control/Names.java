package io.furlong.control;

import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Which names an adapter can have: they become parts of paths, request ids, routes and metric labels. */
public final class Names {
    /** Names that would clash with a route or a metric. */
    public static final Set<String> RESERVED = Set.of("state", "rollout", "train", "eval", "perf");

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,99}");

    private Names() {}

    /** What is wrong with a name, in one line; empty when nothing is. */
    public static Optional<String> problem(String name) {
        if (!NAME.matcher(name).matches()) {
            return Optional.of("name: got '" + printable(name) + "', must be 1 to 100 letters, digits, '.', '_' or '-', not starting with '.' or '-'");
        }
        if (RESERVED.contains(name)) {
            return Optional.of("name: '" + name + "' is reserved, as are " + String.join(", ", RESERVED.stream().sorted().toList()));
        }
        return Optional.empty();
    }

    private static String printable(String text) {
        String cut = text.length() > 120 ? text.substring(0, 120) + "…" : text;
        StringBuilder shown = new StringBuilder();
        cut.codePoints().forEach(c -> shown.append(Character.isISOControl(c) ? String.format("\\u%04x", c) : Character.toString(c)));
        return shown.toString();
    }
}
