package io.furlong.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On the shipped base. */
class OneOffCommandsTest {
    private static final String MODEL = Path.of("..", "models", "furlong-tiny").toString();
    private static final Path EXAMPLES = Path.of("..", "examples");

    @TempDir
    Path dir;

    private final TestConsole console = new TestConsole();

    @Test
    void theSameSeedGivesTheSameAnswers() throws Exception {
        String[] command = {"generate", "--model", MODEL, "--temperature", "1", "--seed", "5", "-n", "3", "--json", "sort dbca="};
        assertThat(console.furlong(command)).as(console.err()).isEqualTo(FurlongCommand.OK);
        String first = console.out();
        assertThat(first.lines()).hasSize(3);
        assertThat(new ObjectMapper().readTree(first.lines().findFirst().orElseThrow()).path("logprobs")).isNotEmpty();
        console.forget();
        console.furlong(command);
        assertThat(console.out()).isEqualTo(first);
    }

    @Test
    void evaluationGivesTheAccuracyOfHeldOutRows() throws Exception {
        assertThat(console.furlong("eval", EXAMPLES.resolve("quickstart/sort/adapter.yaml").toString(), "--model", MODEL, "--max-rows", "40", "--json"))
                .as(console.err()).isEqualTo(FurlongCommand.OK);
        var result = new ObjectMapper().readTree(console.out());
        assertThat(result.path("rows").intValue()).isEqualTo(40);
        assertThat(result.path("greedy_accuracy").doubleValue()).isBetween(0.05, 0.6);
        assertThat(result.path("sampled_accuracy").doubleValue()).isBetween(0.15, 0.6);
    }

    @Test
    void anAdapterThatIsNoneIsOneLine() {
        assertThat(console.furlong("generate", "--model", MODEL, "--adapter", dir.toString(), "x")).isNotEqualTo(FurlongCommand.OK);
        assertThat(console.err()).startsWith("furlong: ").hasLineCount(1);
    }

    @Test
    void theShippedExamplesAreValid() {
        for (String file : new String[] {"one-adapter.yaml", "quickstart/run.yaml"}) {
            assertThat(console.furlong("train", EXAMPLES.resolve(file).toString(), "--validate-only")).as(console.err()).isEqualTo(FurlongCommand.OK);
        }
    }

    @Test
    void validatingNamesTheAdapterAndWhatOnlyItsFilesShow() throws Exception {
        Path run = Files.writeString(dir.resolve("run.yaml"), "model: " + Path.of(MODEL).toAbsolutePath().normalize()
                + "\nadapters: {sums: {data: none.jsonl, rm_type: no_such, rank: 64}}\n");
        assertThat(console.furlong("train", run.toString(), "--validate-only")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err().lines()).allMatch(line -> line.startsWith("furlong: adapter 'sums': ")).anyMatch(line -> line.contains("none.jsonl"))
                .anyMatch(line -> line.contains("no_such")).anyMatch(line -> line.contains("64"));
    }

    @Test
    void aTokenNeedsAStoreThatStays() throws Exception {
        Path run = Files.writeString(dir.resolve("run.yaml"), "model: " + Path.of(MODEL).toAbsolutePath().normalize() + "\nstore: memory\n");
        assertThat(console.furlong("token", run.toString(), "team-a")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).contains("store: got 'memory', must be a file or a database");
        Files.writeString(run, Files.readString(run).replace("memory", "service.db"));
        assertThat(console.furlong("token", run.toString(), "team-a")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out()).matches("flg_[0-9a-f]{48}\n");
        assertThat(console.furlong("export", run.toString(), "nobody", "--to", dir.resolve("out").toString())).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).contains("adapter 'nobody' was never registered");
    }

    @Test
    void runsOfOneSecondGetADirectoryEach() throws Exception {
        LocalDateTime now = LocalDateTime.of(2026, 11, 30, 22, 15, 7);
        Path first = RunDirectory.make(dir.resolve("runs"), "quickstart", now);
        Path second = RunDirectory.make(dir.resolve("runs"), "quickstart", now);
        assertThat(first).hasFileName("quickstart-20261130-221507");
        assertThat(second).hasFileName("quickstart-20261130-221507-2");
        assertThat(dir.resolve("runs/latest").toRealPath()).isEqualTo(second.toRealPath());
    }
}
