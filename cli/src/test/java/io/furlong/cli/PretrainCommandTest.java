package io.furlong.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PretrainCommandTest {
    private final TestConsole console = new TestConsole();

    @TempDir
    private Path directory;

    @Test
    void theQuickstartsRowsAreMadeAgainAsShipped() {
        assertThat(console.furlong("pretrain", "--datasets", directory.toString())).isEqualTo(FurlongCommand.OK);
        for (String task : new String[] {"addition", "sort", "upper"}) {
            for (String file : new String[] {"train.jsonl", "heldout.jsonl"}) {
                assertThat(Path.of("..", "examples", "quickstart", task, file)).hasSameTextualContentAs(directory.resolve(task).resolve(file));
            }
        }
    }

    @Test
    void theBriefFormLeavesAModelAndSaysWhatItCanDo() {
        Path model = directory.resolve("tiny");
        assertThat(console.furlong("pretrain", "--output", model.toString(), "--brief")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out()).contains("addition", "model: " + model);
        assertThat(console.err()).contains("step 40 of 40");
        assertThat(model.resolve("model.safetensors")).exists();
    }

    @Test
    void withoutAnythingToMakeItIsOneLine() {
        assertThat(console.furlong("pretrain")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).contains("--output").contains("--datasets").hasLineCount(1);
    }
}
