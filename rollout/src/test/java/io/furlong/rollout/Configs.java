package io.furlong.rollout;

import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterConfig.Stragglers;
import io.furlong.core.DataConfig;
import io.furlong.core.EvalConfig;
import io.furlong.core.FilterConfig;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.RewardConfig;
import io.furlong.core.SamplingConfig;
import io.furlong.core.StopRule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** Adapter configurations for tests, changed one thing at a time. */
public record Configs(DataConfig data, RewardConfig reward, int batch, int n, int staleness, Stragglers stragglers, double weight,
                      List<FilterConfig> filters, Optional<EvalConfig> eval, Map<String, Object> metadata) {
    public static Configs basic() {
        return new Configs(data(Path.of("rows.jsonl")), reward("exact_match"), 4, 2, 1, Stragglers.WAIT, 1, List.of(), Optional.empty(), Map.of());
    }

    public static DataConfig data(Path path) {
        return new DataConfig(path, "prompt", Optional.of("label"), Optional.empty(), DataConfig.Template.AS_IS,
                DataConfig.Order.AS_WRITTEN, OptionalInt.empty());
    }

    public static RewardConfig reward(String type) {
        return new RewardConfig(Optional.of(type), Optional.empty(), Duration.ofSeconds(5));
    }

    public Configs data(DataConfig d) {
        return new Configs(d, reward, batch, n, staleness, stragglers, weight, filters, eval, metadata);
    }

    public Configs reward(RewardConfig r) {
        return new Configs(data, r, batch, n, staleness, stragglers, weight, filters, eval, metadata);
    }

    public Configs shape(int groups, int samples) {
        return new Configs(data, reward, groups, samples, staleness, stragglers, weight, filters, eval, metadata);
    }

    public Configs staleness(int k) {
        return new Configs(data, reward, batch, n, k, stragglers, weight, filters, eval, metadata);
    }

    public Configs stragglers(Stragglers s) {
        return new Configs(data, reward, batch, n, staleness, s, weight, filters, eval, metadata);
    }

    public Configs weight(double w) {
        return new Configs(data, reward, batch, n, staleness, stragglers, w, filters, eval, metadata);
    }

    public Configs filter(String type, int limitPerStep) {
        return new Configs(data, reward, batch, n, staleness, stragglers, weight, List.of(new FilterConfig(type, limitPerStep)), eval, metadata);
    }

    public Configs eval(EvalConfig e) {
        return new Configs(data, reward, batch, n, staleness, stragglers, weight, filters, Optional.of(e), metadata);
    }

    public AdapterConfig build() {
        return new AdapterConfig(data, reward, batch, n, new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), SamplingConfig.at(1.0, 16),
                LossConfig.DEFAULT, OptimizerConfig.DEFAULT, staleness, stragglers, weight, StopRule.steps(1000), filters, eval,
                Optional.empty(), Path.of("out"), metadata);
    }
}
