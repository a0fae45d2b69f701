package io.furlong.train.pretrain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.core.ConfigException;
import io.furlong.torch.BaseModel;
import io.furlong.torch.tokenizer.HfTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PretrainerTest {
    private static final List<PretrainProgress> REPORTS = new ArrayList<>();

    @TempDir
    private static Path directory;

    private static Path model;

    @BeforeAll
    static void pretrainBriefly() {
        model = directory.resolve("tiny");
        new Pretrainer(PretrainOptions.brief(model, 1), REPORTS::add).run();
    }

    @Test
    void theLossFallsAndProgressSaysWhatIsLeft() {
        assertThat(REPORTS.getLast().loss()).isLessThan(REPORTS.getFirst().loss() - 0.5);
        assertThat(REPORTS.getLast().step()).isEqualTo(REPORTS.getLast().steps());
        assertThat(REPORTS.getLast().left()).isZero();
        assertThat(REPORTS.getFirst().line()).containsPattern("step 10 of 40  loss [0-9.]+  [0-9,]+ tokens/s  \\d+:\\d\\d left");
        assertThat(REPORTS.getLast().scores()).hasSize(Task.values().length);
    }

    @Test
    void theDirectoryIsAHuggingFaceModelOfAtMostEightMegabytes() throws IOException {
        assertThat(files(model).keySet()).containsExactlyInAnyOrder("README.md", "config.json", "generation_config.json", "model.safetensors",
                "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json");
        long bytes = 0;
        for (String file : files(model).keySet()) {
            bytes += Files.size(model.resolve(file));
        }
        assertThat(bytes).isLessThan(8 << 20);
        try (BaseModel loaded = BaseModel.load(model)) {
            assertThat(loaded.config()).isEqualTo(Pretrainer.modelConfig());
            assertThat(loaded.parameters().stream().mapToLong(t -> t.numel()).sum()).isEqualTo(797_824);
        }
        assertThat(Files.readString(model.resolve("README.md"))).contains("license: apache-2.0", "furlong pretrain", "--seed 1", "| addition |")
                .doesNotContain(directory.toString());
        try (Stream<Path> beside = Files.list(directory)) {
            assertThat(beside).as("nothing is left beside the model").containsExactly(model);
        }
    }

    @Test
    void theTokenizerFileGivesTheIdsThatTheModelLearned() {
        try (HfTokenizer tokenizer = HfTokenizer.load(model)) {
            for (Task task : Task.values()) {
                for (String prompt : Corpus.heldOutPrompts(task, 20, 5)) {
                    assertThat(tokenizer.encode(prompt)).isEqualTo(CharVocabulary.encode(prompt));
                    assertThat(tokenizer.decode(tokenizer.encode(prompt))).isEqualTo(prompt);
                }
            }
            assertThat(tokenizer.encode("A?\n~")).isEqualTo(CharVocabulary.encode("A?\n~"));
            assertThat(tokenizer.decode(new int[] {CharVocabulary.encode("8")[0], CharVocabulary.END})).isEqualTo("8");
            assertThat(tokenizer.vocabSize()).isEqualTo(80).isEqualTo(CharVocabulary.SIZE);
            assertThat(tokenizer.chat(List.of(Map.of("role", "user", "content", "1+1=")))).isEqualTo("1+1=");
        }
    }

    @Test
    void theSameSeedGivesTheSameBytes() throws IOException {
        Path first = Files.createDirectory(directory.getParent().resolve(directory.getFileName() + "-first")).resolve("m");
        Path again = first.resolveSibling("again").resolve("m");
        Path other = first.resolveSibling("other").resolve("m");
        try {
            fewSteps(first, 5);
            fewSteps(again, 5);
            fewSteps(other, 6);
            assertThat(files(again)).isEqualTo(files(first));
            assertThat(files(other).get("model.safetensors")).isNotEqualTo(files(first).get("model.safetensors"));
        } finally {
            try (Stream<Path> made = Files.walk(first.getParent())) {
                for (Path path : made.sorted(java.util.Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    @Test
    void anOptionThatCannotBeIsOneLine() {
        assertThatThrownBy(() -> new PretrainOptions(model, 1, 10, 128, 1e-3, 1, 1, 1, 1)).isInstanceOf(ConfigException.class)
                .hasMessage("examples: got 10, must be at least one batch (128)");
    }

    @Test
    void theLearningRateWarmsUpHoldsAndFalls() {
        PretrainOptions full = PretrainOptions.full(model, 1);
        assertThat(full.lrAt(0)).isEqualTo(3e-5);
        assertThat(full.lrAt(99)).isEqualTo(3e-3);
        assertThat(full.lrAt(full.steps() * 6 / 10)).isEqualTo(3e-3);
        assertThat(full.lrAt(full.steps() * 8 / 10)).isCloseTo(1.5e-3, org.assertj.core.api.Assertions.within(1e-9));
        assertThat(full.lrAt(full.steps() - 1)).isBetween(0.0, 3e-6);
    }

    private static void fewSteps(Path output, long seed) {
        new Pretrainer(new PretrainOptions(output, seed, 8 * 6, 8, 3e-3, 2, 3, 3, 4), progress -> {}).run();
    }

    private static Map<String, String> files(Path model) throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (Stream<Path> list = Files.list(model)) {
            for (Path file : list.toList()) {
                files.put(file.getFileName().toString(), HexFormat.of().formatHex(Files.readAllBytes(file)));
            }
        }
        return files;
    }
}
