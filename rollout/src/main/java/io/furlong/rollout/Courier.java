package io.furlong.rollout;

import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes messages to the listener one at a time, in order, on a thread of its own, so that nobody is called under a lock. */
final class Courier implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Courier.class);

    private final LinkedBlockingQueue<Optional<Runnable>> messages = new LinkedBlockingQueue<>();
    private final Thread thread = Thread.ofVirtual().name("rollout-courier").start(this::run);

    void send(Runnable message) {
        messages.add(Optional.of(message));
    }

    private void run() {
        try {
            for (Optional<Runnable> m = messages.take(); m.isPresent(); m = messages.take()) {
                try {
                    m.get().run();
                } catch (RuntimeException e) {
                    log.error("a listener of the rollout failed", e);
                }
            }
        } catch (InterruptedException e) {
            log.warn("messages to the rollout's listener were cut off");
        }
    }

    /** Delivers what was sent before, then ends. */
    @Override
    public void close() {
        messages.add(Optional.empty());
        try {
            thread.join();
        } catch (InterruptedException e) {
            thread.interrupt();
            Thread.currentThread().interrupt();
        }
    }
}
