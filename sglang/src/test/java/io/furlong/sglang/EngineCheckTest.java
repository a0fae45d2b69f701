package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.HealthProbe;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.RewardConfig;
import io.furlong.core.SamplingConfig;
import io.furlong.core.StopRule;
import io.furlong.sglang.testing.Quirks;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EngineCheckTest {
    @TempDir
    Path root;

    private AdapterConfig config(LoraConfig lora, SamplingConfig sampling) {
        DataConfig data = new DataConfig(root, "prompt", Optional.of("label"), Optional.empty(), DataConfig.Template.AS_IS, DataConfig.Order.AS_WRITTEN, OptionalInt.empty());
        RewardConfig reward = new RewardConfig(Optional.of("exact_match"), Optional.empty(), Duration.ofSeconds(1));
        return new AdapterConfig(data, reward, 1, 2, lora, sampling, LossConfig.DEFAULT, OptimizerConfig.DEFAULT, 1, AdapterConfig.Stragglers.WAIT, 1, StopRule.steps(1),
                List.of(), Optional.empty(), Optional.empty(), root, Map.of());
    }

    @Test
    void whatNoEngineCouldServeIsNamedWithTheEngineAndItsFlag() throws Exception {
        try (Rig rig = new Rig(root, 1, Quirks.RELEASED)) {
            EngineCheck check = new EngineCheck(rig.fleet);
            assertThat(check.problems("a", config(new LoraConfig(16, 16, List.of("q_proj")), SamplingConfig.at(1, 64)))).isEmpty();
            assertThat(check.problems("a", config(new LoraConfig(32, 16, List.of("q_proj")), SamplingConfig.at(1, 64)))).singleElement().asString()
                    .contains("rank is 32").contains("at most 16").contains("--max-lora-rank");
            assertThat(check.problems("a", config(new LoraConfig(8, 16, List.of("o_proj")), SamplingConfig.at(1, 64)))).singleElement().asString().contains("o_proj");
            assertThat(check.problems("a", config(new LoraConfig(8, 16, List.of("q_proj")), SamplingConfig.at(1, 5000)))).singleElement().asString().contains("5000").contains("4096");
        }
    }

    @Test
    void healthNamesTheEnginesThatAreNotReadyAndWhy() throws Exception {
        try (Rig rig = new Rig(root, 2, Quirks.RELEASED)) {
            FleetHealth health = new FleetHealth(rig.fleet);
            assertThat(health.check()).isEqualTo(new HealthProbe.Health(HealthProbe.Health.Status.UP, "2 of 2 engines ready"));
            rig.engines.forEach(e -> rig.fleet.roster().engines().forEach(x -> rig.fleet.roster().suspect(x, "too slow")));
            assertThat(health.check().status()).isEqualTo(HealthProbe.Health.Status.DOWN);
            assertThat(health.check().detail()).contains("SUSPECT: too slow");
        }
    }
}
