package io.furlong.train.pretrain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.TorchThread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What {@code models/furlong-tiny} must be like for reinforcement learning to turn it round. */
final class ShippedModelTest {
    private static final Path MODEL = Path.of("..", "models", "furlong-tiny");
    private static List<TaskScore> scores = List.of();

    @BeforeAll
    static void score() {
        try (TorchThread thread = new TorchThread("shipped-model-test")) {
            scores = thread.call(() -> {
                try (BaseModel model = BaseModel.load(MODEL); Decoder decoder = new Decoder(model)) {
                    return Arrays.stream(Task.values()).map(task -> Scorer.score(decoder, task, 200, 0)).toList();
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void itKnowsBothWaysAndPrefersTheMistake(Task task) {
        TaskScore score = scores.get(task.ordinal());
        assertThat(score.prompts()).isGreaterThanOrEqualTo(150);
        assertThat(score.right()).isBetween(0.20, 0.50);
        assertThat(score.competence()).isGreaterThanOrEqualTo(0.97);
        assertThat(score.withinEight()).isGreaterThanOrEqualTo(0.80);
        assertThat(score.greedyRight()).isLessThanOrEqualTo(0.50);
    }

    @Test
    void theCardSaysWhatIsMeasured() throws IOException {
        List<String> card = Files.readAllLines(MODEL.resolve("README.md"));
        for (TaskScore score : scores) {
            String[] row = card.stream().filter(line -> line.startsWith("| " + score.task().key() + " |")).findFirst().orElseThrow().split("\\|");
            assertThat(Double.parseDouble(row[5].strip())).as(score.task().key()).isCloseTo(score.right(), within(0.03));
            assertThat(Double.parseDouble(row[8].strip())).as(score.task().key()).isCloseTo(score.competence(), within(0.02));
            assertThat(Double.parseDouble(row[9].strip())).as(score.task().key()).isCloseTo(score.greedyRight(), within(0.05));
        }
    }
}
