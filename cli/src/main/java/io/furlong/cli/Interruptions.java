package io.furlong.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Ctrl-C and SIGTERM. The JVM ends when its shutdown hooks have returned, so the hook of a running command says stop and waits, a bounded time,
 * until the command has put its things away.
 */
final class Interruptions {
    private static final long MOST_SECONDS = 20;

    private Interruptions() {}

    private static void await(CountDownLatch ended) {
        try {
            ended.await(MOST_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs {@code stop} when the process is asked to end, and holds the end back until {@code close}. */
    static Hold onStop(Runnable stop) {
        CountDownLatch ended = new CountDownLatch(1);
        Thread hook = new Thread(() -> {
            if (ended.getCount() > 0) {
                stop.run();
                await(ended);
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
