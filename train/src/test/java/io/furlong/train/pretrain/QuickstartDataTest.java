package io.furlong.train.pretrain;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.furlong.train.pretrain.TaskDataset.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The files under {@code examples/quickstart}. */
final class QuickstartDataTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    static Stream<TaskDataset> datasets() {
        return TaskDataset.QUICKSTART.stream();
    }

    @ParameterizedTest
    @MethodSource("datasets")
    void noHeldOutPromptIsInTheTrainingFile(TaskDataset dataset) throws IOException {
        List<String> training = rows(dataset, "train.jsonl").stream().map(Row::text).toList();
        List<String> heldOut = rows(dataset, "heldout.jsonl").stream().map(Row::text).toList();
        assertThat(training).hasSize(512).doesNotHaveDuplicates().doesNotContainAnyElementsOf(heldOut);
        assertThat(heldOut).hasSize(200).doesNotHaveDuplicates().allMatch(Corpus::isHeldOut);
    }

    @ParameterizedTest
    @MethodSource("datasets")
    void everyLabelIsRightAndTheBasesMistakeIsAnother(TaskDataset dataset) throws IOException {
        for (String file : List.of("train.jsonl", "heldout.jsonl")) {
            assertThat(rows(dataset, file)).allSatisfy(row -> {
                assertThat(row.label()).isEqualTo(dataset.task().answer(row.text()));
                assertThat(dataset.task().mistake(row.text())).isPresent();
            });
        }
    }

    @ParameterizedTest
    @MethodSource("datasets")
    void theFilesAreWhatTheGeneratorWrites(TaskDataset dataset, @TempDir Path made) throws IOException {
        dataset.write(made);
        for (String file : List.of("train.jsonl", "heldout.jsonl")) {
            assertThat(directory(dataset).resolve(file)).hasSameTextualContentAs(made.resolve(file));
        }
    }

    private static Path directory(TaskDataset dataset) {
        return Path.of("..", "examples", "quickstart", dataset.task().key());
    }

    private static List<Row> rows(TaskDataset dataset, String file) throws IOException {
        return Files.readAllLines(directory(dataset).resolve(file)).stream().map(QuickstartDataTest::row).toList();
    }

    private static Row row(String line) {
        try {
            return JSON.readValue(line, Row.class);
        } catch (IOException e) {
            throw new AssertionError(line, e);
        }
    }
}
