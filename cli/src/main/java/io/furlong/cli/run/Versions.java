package io.furlong.cli.run;

import io.furlong.cli.config.EngineConfig;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.LeaseLostException;
import io.furlong.core.Adapter;
import io.furlong.core.PolicyStamp;
import io.furlong.train.Prepared;
import io.furlong.train.Trainer;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Makes the next version of an adapter from the trainer's weights: its number, its name on the engines, its files.
 *
 * @param directory where version directories go; every engine sees it
 */
record Versions(AdapterRegistry registry, Trainer trainer, EngineConfig.Publish publish, Path directory) {
    /**
     * Written and synced; not committed yet. No other control plane is ever given the same number, so none writes the same directory.
     *
     * @throws LeaseLostException when this process may not write where others see it
     */
    Prepared next(Adapter adapter) throws IOException {
        long version = registry.nextVersion(adapter.registration());
        if (!registry.store().mayAct()) {
            throw new LeaseLostException("store: the lease could not be renewed in time; nothing is written until it is held again");
        }
        return switch (publish) {
            case VERSIONED -> trainer.prepare(adapter.name(), version, directory);
            case SLOT -> trainer.prepare(adapter.name(), version, directory, name -> PolicyStamp.slotName(adapter.slot()));
        };
    }
}
