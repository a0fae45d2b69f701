package io.furlong.cli.run;

import io.furlong.control.AdapterRegistry;
import io.furlong.core.Adapter;
import io.furlong.core.StepCommit;
import io.furlong.core.StepLog.StaleRegistrationException;
import io.furlong.rollout.Rollout;
import io.furlong.rollout.StepAccount;
import io.furlong.torch.TorchArtifact;
import io.furlong.train.AdapterReport;
import io.furlong.train.Prepared;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes optimizer steps durable, in the order that a crash at any point leaves whole: an adapter's files first, then the transaction. The files of
 * adapters that step in the same train call are written at the same time, so that they wait for the disk together; the transactions follow one by one.
 */
final class Commits implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Commits.class);
    /** Adapters whose files are written at once. */
    private static final int WRITERS = 4;

    private final AdapterRegistry registry;
    private final Rollout rollout;
    private final Versions versions;
    private final ExecutorService writers = Executors.newFixedThreadPool(WRITERS, Thread.ofPlatform().daemon().name("furlong-checkpoint-", 0).factory());

    /** A step that was taken, with its files on their way to the disk. */
    private record Step(AdapterReport report, StepAccount account, CompletableFuture<Prepared> files) {}

    /** Told of each step that can't be lost any more; the artifact is the listener's. */
    interface Listener {
        void committed(AdapterReport report, StepAccount account, TorchArtifact artifact);
    }

    Commits(AdapterRegistry registry, Rollout rollout, Versions versions) {
        this.registry = registry;
        this.rollout = rollout;
        this.versions = versions;
    }

    /** Commits the steps of one train call, but for those of adapters that have ended meanwhile. */
    void commit(List<AdapterReport> stepped, Listener listener) {
        List<Step> steps = new ArrayList<>();
        for (AdapterReport report : stepped) {
            Optional<Adapter> adapter = registry.snapshot().find(report.adapter(), report.registration());
            Optional<StepAccount> account = rollout.prepareStep(report.registration());
            if (adapter.isPresent() && account.isPresent()) {
                steps.add(new Step(report, account.get(), written(adapter.get())));
            }
        }
        steps.forEach(step -> commit(step, listener));
    }

    private CompletableFuture<Prepared> written(Adapter adapter) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return versions.next(adapter);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }, writers);
    }

    private void commit(Step step, Listener listener) {
        AdapterReport report = step.report();
        try {
            Prepared prepared = step.files().join();
            transaction(step, prepared);
            rollout.stepped(step.account());
            listener.committed(report, step.account(), prepared.artifact());
        } catch (CompletionException e) {
            rollout.dropped(report.registration());
            switch (e.getCause()) {
                case UncheckedIOException disk -> registry.fail(report.registration(), disk.getCause().getMessage(),
                        "make room or allow writing there, then register it again with init_from: resume");
                case RuntimeException other -> throw other;
                default -> throw e;
            }
        } catch (StaleRegistrationException e) {
            rollout.dropped(report.registration());
            LOG.info("adapter '{}' ended while a step was being committed; the step is dropped", report.adapter());
        }
    }

    private void transaction(Step step, Prepared prepared) throws StaleRegistrationException {
        StepAccount a = step.account();
        try {
            registry.commit(new StepCommit(step.report().adapter(), prepared.artifact().stamp(), prepared.checkpoint(), prepared.checkpointDigest(), a.ledger(),
                    a.cursor(), a.generatedTokens(), a.trainedTokens()));
        } catch (StaleRegistrationException | RuntimeException e) {
            prepared.artifact().close();
            throw e;
        }
    }

    @Override
    public void close() {
        writers.close();
    }
}
