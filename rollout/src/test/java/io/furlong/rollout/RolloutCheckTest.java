package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.EvalConfig;
import io.furlong.rollout.RolloutLimits.Schedule;
import io.furlong.rollout.data.Datasets;
import io.furlong.rollout.reward.Rewards;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RolloutCheckTest {
    @TempDir
    Path dir;

    private List<String> problems(Configs c) {
        try (Datasets datasets = new Datasets(new CharTokenizer(), 1, 64)) {
            RolloutLimits limits = new RolloutLimits(64, Duration.ZERO, Duration.ofSeconds(1), 1, 4, 3, 4, Duration.ofSeconds(1), Schedule.ASYNCHRONOUS);
            return new RolloutCheck(new Rewards(Set.of()), datasets, limits).problems("a", c.build());
        }
    }

    @Test
    void aGoodConfigurationHasNoProblemAndABadOneALineForEach() throws IOException {
        Path good = Files.writeString(dir.resolve("good.jsonl"), "{\"prompt\": \"a\", \"label\": \"b\"}\n");
        Configs basic = Configs.basic().data(Configs.data(good));
        assertThat(problems(basic)).isEmpty();
        List<String> problems = problems(basic.shape(3, 2).reward(Configs.reward("exakt_match")).filter("no_variance", 1)
                .data(Configs.data(dir.resolve("none.jsonl"))).eval(new EvalConfig(dir.resolve("held.csv"), 1, 1, 0)));
        assertThat(problems).hasSize(5).noneMatch(p -> p.contains("\n"));
        assertThat(problems.get(0)).startsWith("rm_type: got 'exakt_match', must be one of exact_match");
        assertThat(problems.get(1)).startsWith("filters.type: got 'no_variance', must be one of zero_variance");
        assertThat(problems.get(2)).startsWith("rollout_batch_size: got 3, must be a multiple of 2");
        assertThat(problems.get(3)).startsWith("data: ").contains("none.jsonl", "no such file");
        assertThat(problems.get(4)).startsWith("eval.data: ").contains("held.csv");
    }
}
