package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.AdapterConfig;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.SamplingConfig;
import java.util.List;
import org.junit.jupiter.api.Test;

class TrainingCheckTest {
    private final TrainingCheck check = new TrainingCheck(Bench.BASE.config(), 8);

    @Test
    void whatCanBeTrainedHasNoProblems() {
        assertThat(check.problems("sums", Bench.config())).isEmpty();
        assertThat(check.problems("sums", Bench.config(new LoraConfig(8, 8, List.of("q_proj", "down_proj")), LossConfig.DEFAULT, OptimizerConfig.DEFAULT, 0))).isEmpty();
    }

    @Test
    void everyNameAndRankThatCannotBeTrainedIsNamedInOneLine() {
        AdapterConfig config = Bench.config(new LoraConfig(16, 8, List.of("q_proj", "qproj")), new LossConfig("gspo", 0.2, 0.2, 0),
                new OptimizerConfig("sgd", 1e-3, "step", 0, 0.9, 0.95, 1e-8, 0, 1), 1);
        assertThat(check.problems("sums", config)).containsExactly(
                "target_modules: got 'qproj', must be all-linear alone, or of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj",
                "rank: got 16, must be at most 8 (lora.max_rank)",
                "optimizer.type: got 'sgd', must be adamw",
                "optimizer.schedule: got 'step', must be constant, linear or cosine",
                "loss.type: got 'gspo', must be grpo");
    }

    @Test
    void samplingThatTheTrainerCannotComputeAgainIsRefused() {
        SamplingConfig odd = new SamplingConfig(0, 0.9, 50, 0.1, 0.5, 0.5, 1.1, 16, 2, List.of(), List.of(), SamplingConfig.IgnoreEos.STOP_AT_EOS);
        AdapterConfig c = Bench.config();
        AdapterConfig config = new AdapterConfig(c.data(), c.reward(), c.rolloutBatchSize(), c.nSamplesPerPrompt(), c.lora(), odd, c.loss(), c.optimizer(),
                c.maxStaleness(), c.stragglers(), c.weight(), c.stop(), c.filters(), c.eval(), c.initFrom(), c.save(), c.metadata());
        assertThat(check.problems("sums", config)).hasSize(8).allMatch(p -> p.startsWith("sampling.")).first().asString()
                .startsWith("sampling.temperature: got 0.0, must be above 0 for training");
    }
}
