package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.Limits;
import io.furlong.control.RefusedException;
import io.furlong.control.Store;
import io.furlong.control.VersionDirectories;
import io.furlong.control.store.Stores;
import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigCheck;
import io.furlong.rollout.RolloutCheck;
import io.furlong.rollout.RolloutLimits;
import io.furlong.rollout.data.Datasets;
import io.furlong.rollout.reward.Rewards;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.train.TrainingCheck;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Asks of every adapter of a run what registration would ask, without engines, trainer or anything written. */
final class RunValidation {
    private RunValidation() {}

    /** @throws Mistake with every problem of every adapter */
    static void check(RunConfig config) throws Exception {
        ModelConfig model = ModelConfig.read(config.model());
        List<String> problems = new ArrayList<>();
        try (HfTokenizer tokenizer = HfTokenizer.load(config.model()); Datasets datasets = new Datasets(tokenizer, config.seed(), model.contextLength());
                Store store = Stores.memory()) {
            RolloutLimits limits = RolloutLimits.of(config.rollout().globalBatchSize(), RolloutLimits.Schedule.ASYNCHRONOUS);
            List<ConfigCheck> checks = List.of(new TrainingCheck(model, config.lora().maxRank()),
                    new RolloutCheck(new Rewards(Set.copyOf(config.customRewards())), datasets, limits));
            AdapterRegistry registry = AdapterRegistry.open(Limits.of(Math.max(config.lora().maxAdapters(), config.adapters().size()), () -> Integer.MAX_VALUE),
                    checks, store, InstantSource.system(), new VersionDirectories(List.of()));
            for (Map.Entry<String, AdapterConfig> adapter : config.adapters().entrySet()) {
                try {
                    registry.register(new AdapterRegistry.Request("local", adapter.getKey(), adapter.getValue(), AdapterRegistry.Request.WhenFull.REFUSE));
                } catch (RefusedException e) {
                    e.problems().forEach(problem -> problems.add("adapter '" + adapter.getKey() + "': " + problem));
                }
            }
        }
        if (!problems.isEmpty()) {
            throw new Mistake(problems);
        }
    }
}
