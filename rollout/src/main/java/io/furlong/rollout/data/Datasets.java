package io.furlong.rollout.data;

import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigException;
import io.furlong.core.DataConfig;
import io.furlong.core.PromptSource;
import io.furlong.core.Tokenizer;
import io.furlong.rollout.PromptSources;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Opens dataset files. DuckDB and the tokenizer are native, so their calls run on a small pool of platform threads that all
 * datasets share; whoever calls waits for the answer, on a virtual thread if it likes.
 */
public final class Datasets implements PromptSources, AutoCloseable {
    private static final int THREADS = 2;

    private final Tokenizer tokenizer;
    private final long runSeed;
    private final int contextLength;
    private final ExecutorService pool;

    /** @param contextLength tokens that prompt and response may have together */
    public Datasets(Tokenizer tokenizer, long runSeed, int contextLength) {
        this.tokenizer = tokenizer;
        this.runSeed = runSeed;
        this.contextLength = contextLength;
        AtomicInteger count = new AtomicInteger();
        pool = Executors.newFixedThreadPool(THREADS, work -> {
            Thread t = new Thread(work, "datasets-" + count.incrementAndGet());
            t.setDaemon(true);
            return t;
        });
    }

    @Override
    public PromptSource open(String adapter, AdapterConfig config, DataConfig data) {
        DatasetFile file = DatasetFile.of(data.path());
        RowReader reader = new RowReader(file, data, config.metadata(), tokenizer, maxPromptTokens(config, data));
        return onPool(() -> DuckDbSource.open(file, data, reader, runSeed, adapter, this));
    }

    /**
     * Reads the first rows only.
     *
     * @throws DatasetException what is wrong with the file or its columns
     * @throws ConfigException  what is wrong with the settings
     */
    public void check(AdapterConfig config, DataConfig data) {
        DatasetFile file = DatasetFile.of(data.path());
        RowReader reader = new RowReader(file, data, config.metadata(), tokenizer, maxPromptTokens(config, data));
        onPool(() -> {
            DuckDbSource.checkFirstRows(file, data, reader);
            return true;
        });
    }

    private int maxPromptTokens(AdapterConfig config, DataConfig data) {
        int left = contextLength - config.sampling().maxNewTokens();
        if (left < 1) {
            throw new ConfigException("sampling.max_new_tokens", config.sampling().maxNewTokens(),
                    "below the context length of " + contextLength);
        }
        return Math.min(left, data.maxPromptTokens().orElse(left));
    }

    /** Runs native work on the pool and waits for it. */
    <T> T onPool(Callable<T> work) {
        Future<T> done = pool.submit(work);
        try {
            return done.get();
        } catch (InterruptedException e) {
            done.cancel(true);
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading a dataset", e);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException r -> throw r;
                case Error err -> throw err;
                default -> throw new IllegalStateException(e.getCause());
            }
        }
    }

    @Override
    public void close() {
        pool.shutdownNow();
    }
}
