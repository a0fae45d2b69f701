package io.furlong.rollout;

import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigCheck;
import io.furlong.core.ConfigException;
import io.furlong.core.DataConfig;
import io.furlong.rollout.data.DatasetException;
import io.furlong.rollout.data.Datasets;
import io.furlong.rollout.filter.Filters;
import io.furlong.rollout.reward.Rewards;
import java.util.ArrayList;
import java.util.List;

/** What can be told at registration: the reward and the filters exist, the batch can be split, the data can be read. */
public final class RolloutCheck implements ConfigCheck {
    private final Rewards rewards;
    private final Datasets datasets;
    private final RolloutLimits limits;

    public RolloutCheck(Rewards rewards, Datasets datasets, RolloutLimits limits) {
        this.rewards = rewards;
        this.datasets = datasets;
        this.limits = limits;
    }

    @Override
    public List<String> problems(String adapter, AdapterConfig config) {
        List<String> problems = new ArrayList<>();
        check(problems, () -> rewards.find(config.reward()));
        check(problems, () -> Filters.find(config.filters()));
        check(problems, () -> batchShape(config));
        check(problems, () -> readable("data", config, config.data()));
        config.eval().ifPresent(e -> check(problems, () -> readable("eval.data", config, Evaluator.evalData(config.data(), e))));
        return problems;
    }

    private static void check(List<String> problems, Runnable check) {
        try {
            check.run();
        } catch (ConfigException e) {
            problems.add(e.getMessage());
        }
    }

    private void batchShape(AdapterConfig c) {
        int unit = AdapterStream.unit(c, limits);
        if (unit * c.nSamplesPerPrompt() % limits.dataParallel() != 0) {
            throw new ConfigException("n_samples_per_prompt", c.nSamplesPerPrompt(), "a divisor or a multiple of the trainer's "
                    + limits.dataParallel() + " processes");
        }
        if (c.rolloutBatchSize() % unit != 0) {
            throw new ConfigException("rollout_batch_size", c.rolloutBatchSize(), "a multiple of " + unit
                    + ", so that its samples split evenly over the trainer's " + limits.dataParallel() + " processes");
        }
    }

    private void readable(String field, AdapterConfig config, DataConfig data) {
        try {
            datasets.check(config, data);
        } catch (DatasetException e) {
            throw new ConfigException(field, e.getMessage());
        }
    }
}
