package io.furlong.torch;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import org.bytedeco.pytorch.global.torch;

/**
 * A platform thread on which torch work runs, one task after another, each in a {@link Scope} of its own.
 *
 * <p>libtorch keeps state per OS thread (grad mode, thread counts), so torch work never runs on virtual threads; they hand it over here and wait.
 * What a task returns must not be a tensor of its scope: it is freed before the caller sees it.
 */
public final class TorchThread implements AutoCloseable {
    private static final Runnable END = () -> {};

    private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Thread thread;
    private volatile boolean closed;

    public TorchThread(String name) {
        Torch.ready();
        thread = Thread.ofPlatform().name(name).daemon().start(this::loop);
    }

    /** Queues {@code task}; the future ends with its result or its exception. */
    public <T> CompletableFuture<T> submit(Callable<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Runnable run = () -> {
            T value;
            try (Scope scope = new Scope()) {
                value = task.call();
            } catch (Throwable e) {
                result.completeExceptionally(e);
                return;
            }
            // Only now, so that who waits sees everything freed.
            result.complete(value);
        };
        synchronized (tasks) {
            if (closed) {
                throw new RejectedExecutionException("torch thread " + thread.getName() + " is closed");
            }
            tasks.add(run);
        }
        return result;
    }

    /** Runs {@code task} on the thread and waits for it; exceptions come out as they were thrown. Called on the thread itself, it runs at once. */
    public <T> T call(Callable<T> task) {
        if (Thread.currentThread() == thread) {
            try (Scope scope = new Scope()) {
                return task.call();
            } catch (Exception e) {
                throw e instanceof RuntimeException unchecked ? unchecked : new CompletionException(e);
            }
        }
        try {
            return submit(task).join();
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw e;
            }
        }
    }

    /** Runs {@code task} on the thread and waits for it. */
    public void run(Runnable task) {
        call(() -> {
            task.run();
            return true;
        });
    }

    /** Runs what is queued to its end, then ends the thread. */
    @Override
    public void close() {
        synchronized (tasks) {
            if (!closed) {
                closed = true;
                tasks.add(END);
            }
        }
        if (Thread.currentThread() == thread) {
            return;
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void loop() {
        int threads = 0;
        try {
            for (Runnable task = tasks.take(); task != END; task = tasks.take()) {
                if (threads != Torch.threads()) {
                    threads = Torch.threads();
                    torch.set_num_threads(threads);
                }
                task.run();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("torch thread " + thread.getName() + " must not be interrupted", e);
        }
    }
}
