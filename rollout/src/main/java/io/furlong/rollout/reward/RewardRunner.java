package io.furlong.rollout.reward;

import io.furlong.core.Prompt;
import io.furlong.core.RewardFunction;
import io.furlong.core.Sample;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * Runs one adapter's own code, its reward and its filters, on a small pool of platform threads, because virtual threads are not
 * time-sliced and a loop in one would stop everybody.
 *
 * <p>A call's deadline counts from when its work starts, so waiting behind others costs nothing. Past it the caller goes on
 * without an answer; the thread is interrupted and counts as stuck for as long as it doesn't return. The pool has as many
 * threads as may be stuck, so when the bound is reached nothing of this adapter runs any more, and the owner is told.
 */
public final class RewardRunner implements AutoCloseable {
    /** Why there is no answer. */
    public enum Reason {
        /** The code threw. */
        ERROR,
        /** The code didn't return in time. */
        TIMEOUT,
        /** The reward was NaN or infinite. */
        NOT_FINITE
    }

    /** No answer. */
    public static final class RewardException extends Exception {
        private static final long serialVersionUID = 1L;
        private final Reason reason;

        RewardException(Reason reason, String message, Throwable cause) {
            super(message, cause);
            this.reason = reason;
        }

        RewardException(Reason reason, String message) {
            super(message);
            this.reason = reason;
        }

        public Reason reason() {
            return reason;
        }
    }

    private final RewardFunction reward;
    private final Duration timeout;
    private final int bound;
    private final IntConsumer allStuck;
    private final ThreadPoolExecutor pool;
    private final AtomicInteger stuck = new AtomicInteger();
    private final AtomicLong abandoned = new AtomicLong();

    /**
     * @param adapter  for thread names
     * @param bound    threads, and stuck calls at which {@code allStuck} is called with their number
     */
    public RewardRunner(String adapter, RewardFunction reward, Duration timeout, int bound, IntConsumer allStuck) {
        this.reward = reward;
        this.timeout = timeout;
        this.bound = bound;
        this.allStuck = allStuck;
        AtomicInteger count = new AtomicInteger();
        pool = new ThreadPoolExecutor(bound, bound, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
            Thread t = new Thread(work, "reward-" + adapter + "-" + count.incrementAndGet());
            t.setDaemon(true);
            return t;
        });
        pool.allowCoreThreadTimeOut(true);
    }

    /** Work under way: known to have started, and to have ended. */
    private final class Call<T> implements Runnable {
        final Callable<T> work;
        final CompletableFuture<Thread> started = new CompletableFuture<>();
        final CompletableFuture<T> done = new CompletableFuture<>();
        private boolean finished;
        private boolean givenUp;

        Call(Callable<T> work) {
            this.work = work;
        }

        @Override
        public void run() {
            started.complete(Thread.currentThread());
            try {
                done.complete(work.call());
            } catch (Throwable t) {
                done.completeExceptionally(t);
            } finally {
                synchronized (this) {
                    finished = true;
                    if (givenUp) {
                        stuck.decrementAndGet();
                    }
                }
                Thread.interrupted();
            }
        }

        /** False if it has returned after all. */
        synchronized boolean giveUp(Thread worker) {
            if (finished) {
                return false;
            }
            givenUp = true;
            abandoned.incrementAndGet();
            worker.interrupt();
            int now = stuck.incrementAndGet();
            if (now >= bound) {
                allStuck.accept(now);
            }
            return true;
        }
    }

    /** Asks the reward. Blocks until there is an answer, or none. */
    public double score(Prompt prompt, Sample sample)
            throws RewardException, UnscorableException, InterruptedException {
        Double value;
        if (reward instanceof InstantReward r) {
            value = instantly(() -> r.score(prompt, sample));
        } else {
            value = run("reward " + reward.name(), () -> reward.score(prompt, sample));
        }
        if (!Double.isFinite(value)) {
            throw new RewardException(Reason.NOT_FINITE, "reward " + reward.name() + " returned " + value + " for row " + prompt.row()
                    + ", must be a finite number");
        }
        return value;
    }

    private <T> T instantly(Callable<T> work) throws RewardException {
        try {
            return work.call();
        } catch (Exception e) {
            throw new RewardException(Reason.ERROR, "reward " + reward.name() + " threw " + e, e);
        }
    }

    /** Runs any code of the adapter under the same rules. */
    public <T> T run(String what, Callable<T> work) throws RewardException, UnscorableException, InterruptedException {
        Call<T> call = new Call<>(work);
        pool.execute(call);
        try {
            Thread worker = call.started.get();
            try {
                return call.done.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                if (!call.giveUp(worker)) {
                    return call.done.get();
                }
                throw new RewardException(Reason.TIMEOUT, what + " didn't return within " + timeout.toMillis() + " ms");
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnscorableException u) {
                throw u;
            }
            throw new RewardException(Reason.ERROR, what + " threw " + e.getCause(), e.getCause());
        }
    }

    /** Calls past their deadline that still occupy a thread. */
    public int stuck() {
        return stuck.get();
    }

    /** Calls given up on since the start. */
    public long abandoned() {
        return abandoned.get();
    }

    @Override
    public void close() {
        for (Runnable waiting : pool.shutdownNow()) {
            ((Call<?>) waiting).started.completeExceptionally(new IllegalStateException("the adapter has ended"));
        }
    }
}
