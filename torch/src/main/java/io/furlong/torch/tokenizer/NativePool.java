package io.furlong.torch.tokenizer;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Native tokenizer calls run on two platform threads of this process, so that a long text pins no carrier of virtual threads.
 * The caller waits; an interrupt of the caller ends the wait, never the native call.
 */
final class NativePool {
    private static final int THREADS = 2;
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final ExecutorService POOL = Executors.newFixedThreadPool(THREADS, work -> {
        Thread thread = new Thread(work, "furlong-tokenizer-" + COUNT.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    });

    private NativePool() {}

    static <T> T call(Callable<T> work) throws InterruptedException {
        try {
            return POOL.submit(work).get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException problem) {
                throw problem;
            }
            throw new TokenizerException("tokenizer: " + e.getCause().getMessage(), e.getCause());
        }
    }
}
