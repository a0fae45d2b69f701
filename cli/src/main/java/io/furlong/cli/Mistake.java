package io.furlong.cli;

import java.util.List;

/** Something the user has to put right; shown as its lines, without a stack trace. */
public final class Mistake extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public Mistake(String line) {
        super(line);
    }

    public Mistake(List<String> lines) {
        super(String.join("\n", lines));
    }
}
