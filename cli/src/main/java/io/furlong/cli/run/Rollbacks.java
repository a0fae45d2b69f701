package io.furlong.cli.run;

import io.furlong.control.AdapterRegistry;
import io.furlong.control.Registration;
import io.furlong.control.VersionRow;
import io.furlong.core.StepCommit;
import io.furlong.core.StepLog.StaleRegistrationException;
import io.furlong.train.Prepared;
import io.furlong.train.Start;
import io.furlong.train.Trainer;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes adapters back to a committed version where someone asked for it. The old weights get a new version number, and are
 * committed and published like any step; what was accumulated is dropped, and open groups end as soon as the rollout sees
 * the step go down. Called by the loop between two batches.
 */
record Rollbacks(AdapterRegistry registry, Trainer trainer, Versions versions, Artifacts artifacts) {
    private static final Logger LOG = LoggerFactory.getLogger(Rollbacks.class);

    void carryOut() {
        for (Registration r : registry.live()) {
            r.desired().rollback().ifPresent(version -> registry.store().version(r.id(), version).ifPresent(row -> back(r, row)));
        }
    }

    private void back(Registration r, VersionRow row) {
        StepCommit to = row.commit();
        try {
            trainer.detach(r.name());
            trainer.attach(r.adapter(), new Start.Continue(to.checkpoint()));
            Prepared prepared = versions.next(r.adapter());
            StepCommit last = registry.last(r.id()).orElse(to);
            registry.commit(new StepCommit(r.name(), prepared.artifact().stamp(), prepared.checkpoint(), prepared.checkpointDigest(), last.ledger(),
                    last.cursor(), last.generatedTokens(), last.trainedTokens()));
            artifacts.submit(prepared.artifact());
            LOG.info("adapter '{}': back at step {}, the weights of version {}", r.name(), to.stamp().step(), to.stamp().version());
        } catch (StaleRegistrationException e) {
            LOG.info("adapter '{}': ended before it was rolled back", r.name());
        } catch (IOException | RuntimeException e) {
            registry.fail(r.id(), "can't go back to version " + to.stamp().version() + ": " + e.getMessage(),
                    "register it again with init_from: resume, or from another version");
        }
    }
}
