package io.furlong.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Ctrl-C and SIGTERM. The JVM ends when its shutdown hooks have returned, so the hook of a running command says stop and waits, a bounded time,
 * until the command has put its things away.
 */
final class Interruptions {
    /** What a shell reports of a command that Ctrl-C ended. */
    static final int INTERRUPTED = 130;
    private static final long MOST_SECONDS = 90;

    private Interruptions() {}

    private static void await(CountDownLatch ended) {
        try {
            ended.await(MOST_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Runs {@code stop} when the process is asked to end, and holds the end back until {@code close}.
     *
     * @param exitCode that of the process when it was ended so
     */
    static Hold onStop(Runnable stop, int exitCode) {
        CountDownLatch ended = new CountDownLatch(1);
        Thread hook = new Thread(() -> {
            if (ended.getCount() > 0) {
                stop.run();
                await(ended);
                System.out.flush();
                Runtime.getRuntime().halt(exitCode);
            }
        }, "stop");
        Runtime.getRuntime().addShutdownHook(hook);
        return ended::countDown;
    }

    /** The command is still at work; closed when it is done. */
    interface Hold extends AutoCloseable {
        @Override
        void close();
    }
}
