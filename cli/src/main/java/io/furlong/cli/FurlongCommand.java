package io.furlong.cli;

import java.util.concurrent.Callable;

/**
 * A command of {@code furlong}: a class with picocli's {@code @Command} whose {@code call} returns an exit code. Commands of
 * other modules are found through {@code ServiceLoader} and need a public constructor without arguments.
 */
public interface FurlongCommand extends Callable<Integer> {
    /** It did what was asked. */
    int OK = 0;
    /** It ran, and something of it failed: an adapter, a check, an engine. */
    int FAILED = 1;
    /** It could not start: a mistake in the command line or in a file. Nothing was changed. */
    int MISTAKE = 2;
}
