package io.furlong.control.config;

import java.util.List;

/** Everything found wrong with a configuration, one line each; the message is the lines. */
public final class ConfigErrors extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;
    private final transient List<String> lines;

    public ConfigErrors(List<String> lines) {
        super(String.join("\n", lines));
        this.lines = List.copyOf(lines);
    }

    public List<String> lines() {
        return lines;
    }
}
