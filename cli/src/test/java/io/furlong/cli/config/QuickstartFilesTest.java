package io.furlong.cli.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.AdapterConfig;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The files under {@code examples/quickstart}, as the quickstart reads them. */
final class QuickstartFilesTest {
    private final RunConfig run = RunConfigReader.read(Path.of("..", "examples", "quickstart", "run.yaml"), RunConfigReader.Overrides.NONE);

    @Test
    void threeAdaptersLearnTwentyStepsEachFromTheirOwnFiles() {
        assertThat(run.adapters()).containsOnlyKeys("addition", "sort", "upper");
        assertThat(run.adapters().values().stream().map(adapter -> adapter.data().path())).doesNotHaveDuplicates().allSatisfy(p -> assertThat(p).exists());
        assertThat(run.adapters().values().stream().map(adapter -> adapter.stop().numStep())).allSatisfy(steps -> assertThat(steps).hasValue(20));
        assertThat(run.model().resolve("model.safetensors")).exists();
    }

    @Test
    void eachIsEvaluatedGreedilyOnTwoHundredRowsAndAtTheTrainingTemperature() {
        for (AdapterConfig adapter : run.adapters().values()) {
            assertThat(adapter.eval()).hasValueSatisfying(eval -> {
                assertThat(eval.data()).exists().isNotEqualTo(adapter.data().path());
                assertThat(eval.maxRows()).isEqualTo(200);
                assertThat(eval.samples()).isEqualTo(4);
            });
        }
    }
}
