package io.furlong.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Runs commands as the program does and keeps what they print. */
public final class TestConsole {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    /** The exit code. */
    public int furlong(String... args) {
        return Furlong.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true)).execute(args);
    }

    public String out() {
        return out.toString();
    }

    public String err() {
        return err.toString();
    }

    public void forget() {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
    }
}
