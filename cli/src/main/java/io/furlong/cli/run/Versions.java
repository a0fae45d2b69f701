package io.furlong.cli.run;

import io.furlong.cli.config.EngineConfig;
import io.furlong.core.Adapter;
import io.furlong.core.PolicyStamp;
import io.furlong.core.StepLog;
import io.furlong.train.Prepared;
import io.furlong.train.Trainer;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Makes the next version of an adapter from the trainer's weights: its number, its name on the engines, its files.
 *
 * @param directory where version directories go; every engine sees it
 */
record Versions(StepLog log, Trainer trainer, EngineConfig.Publish publish, Path directory) {
    /** Written and synced; not committed yet. */
    Prepared next(Adapter adapter) throws IOException {
        long version = log.nextVersion(adapter.registration());
        return switch (publish) {
            case VERSIONED -> trainer.prepare(adapter.name(), version, directory);
            case SLOT -> trainer.prepare(adapter.name(), version, directory, name -> PolicyStamp.slotName(adapter.slot()));
        };
    }
}
