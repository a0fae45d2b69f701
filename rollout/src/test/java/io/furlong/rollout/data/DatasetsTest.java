package io.furlong.rollout.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.DataConfig.Order;
import io.furlong.core.DataConfig.Template;
import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import io.furlong.rollout.CharTokenizer;
import io.furlong.rollout.Configs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DatasetsTest {
    @TempDir
    Path dir;
    private final Datasets datasets = new Datasets(new CharTokenizer(), 7, 64);

    @AfterEach
    void close() {
        datasets.close();
    }

    private Path write(String name, String text) throws IOException {
        return Files.writeString(dir.resolve(name), text);
    }

    private PromptSource open(DataConfig data) {
        return open("gsm8k", data);
    }

    private PromptSource open(String adapter, DataConfig data) {
        AdapterConfig config = Configs.basic().data(data).build();
        return datasets.open(adapter, config, data);
    }

    private static DataConfig data(Path p, Order order, Template template, Optional<String> metadata) {
        return new DataConfig(p, "prompt", Optional.of("label"), metadata, template, order, OptionalInt.empty());
    }

    private static List<String> pass(PromptSource source, int epoch) {
        List<String> texts = new ArrayList<>();
        for (long i = 0; source.at(epoch, i).isPresent(); i++) {
            texts.add(source.at(epoch, i).orElseThrow().text());
        }
        return texts;
    }

    private String lines(int rows) {
        return IntStream.range(0, rows).mapToObj(i -> "{\"prompt\": \"q" + i + "\", \"label\": \"a" + i + "\"}\n").collect(Collectors.joining());
    }

    @Test
    void jsonLinesComeInTheOrderWrittenWithLabelsAsWritten() throws IOException {
        Path p = write("a.jsonl", """
                {"prompt": "1+1=", "label": "2"}

                {"label": 12.50, "prompt": "zwölf?", "extra": [1]}
                {"prompt": "true?", "label": true}
                """);
        try (PromptSource s = open(Configs.data(p))) {
            assertThat(s.rows()).isEqualTo(3);
            assertThat(pass(s, 0)).containsExactly("1+1=", "zwölf?", "true?");
            Prompt second = s.at(4, 1).orElseThrow();
            assertThat(second.label()).isEqualTo("12.50");
            assertThat(second.row()).isEqualTo(1);
            assertThat(second.epoch()).isEqualTo(4);
            assertThat(second.tokenIds()).isEqualTo("zwölf?".chars().toArray());
            assertThat(s.row(2, 2).label()).isEqualTo("true");
            assertThat(s.at(0, 3)).isEmpty();
            assertThat(s.fingerprint()).matches("[0-9a-f]{64}");
        }
    }

    @Test
    void csvAndParquetGiveTheSamePromptsAsJsonLines() throws IOException, SQLException {
        Path csv = write("a.csv", "prompt,label,note\n\"a, b\",007,x\n\"say \"\"hi\"\"\",2,\n");
        Path parquet = dir.resolve("a.parquet");
        try (Connection c = DriverManager.getConnection("jdbc:duckdb:"); Statement s = c.createStatement()) {
            s.execute("COPY (SELECT * FROM (VALUES ('a, b', '007', {'k': 1}), ('say \"hi\"', '2', NULL)) t(prompt, label, note)) TO '"
                    + parquet + "' (FORMAT parquet)");
        }
        for (Path p : List.of(csv, parquet)) {
            try (PromptSource s = open(Configs.data(p))) {
                assertThat(pass(s, 0)).containsExactly("a, b", "say \"hi\"");
                assertThat(s.at(0, 0).orElseThrow().label()).isEqualTo("007");
            }
        }
        try (PromptSource s = open(data(parquet, Order.AS_WRITTEN, Template.AS_IS, Optional.of("note")))) {
            assertThat(s.at(0, 0).orElseThrow().metadata()).isEqualTo(Map.of("k", 1));
            assertThat(s.at(0, 1).orElseThrow().metadata()).isEmpty();
        }
    }

    @Test
    void aTextGoesThroughTheChatTemplateIfAskedForAndAMessageListAlways() throws IOException {
        Path p = write("chat.jsonl", """
                {"prompt": "hi", "label": "x"}
                {"prompt": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}], "label": "x"}
                """);
        try (PromptSource s = open(data(p, Order.AS_WRITTEN, Template.CHAT, Optional.empty()))) {
            assertThat(pass(s, 0)).containsExactly("<user>hi<assistant>", "<system>be brief<user>hi<assistant>");
        }
        try (PromptSource s = open(Configs.data(p))) {
            assertThat(pass(s, 0)).containsExactly("hi", "<system>be brief<user>hi<assistant>");
        }
    }

    @Test
    void shufflingDependsOnSeedAdapterAndEpochAloneAndEveryPassHasEveryRowOnce() throws IOException {
        DataConfig shuffled = data(write("a.jsonl", lines(200)), Order.SHUFFLED, Template.AS_IS, Optional.empty());
        try (PromptSource a = open("a", shuffled); PromptSource again = open("a", shuffled); PromptSource b = open("b", shuffled)) {
            List<String> first = pass(a, 0);
            assertThat(first).hasSize(200).doesNotHaveDuplicates();
            assertThat(pass(again, 0)).isEqualTo(first);
            assertThat(pass(a, 1)).isNotEqualTo(first).containsExactlyInAnyOrderElementsOf(first);
            assertThat(pass(b, 0)).isNotEqualTo(first).containsExactlyInAnyOrderElementsOf(first);
            Prompt tenth = a.at(0, 10).orElseThrow();
            assertThat(a.row(0, tenth.row()).text()).isEqualTo(tenth.text());
        }
    }

    @Test
    void promptsThatAreTooLongAreLeftOutAndCounted() throws IOException {
        Path p = write("a.jsonl", lines(3) + "{\"prompt\": \"" + "x".repeat(49) + "\", \"label\": \"l\"}\n" + lines(1)
                + "{\"prompt\": \"" + "y".repeat(48) + "\", \"label\": \"l\"}\n");
        try (PromptSource s = open(Configs.data(p))) { // a context of 64 less 16 new tokens leaves 48
            assertThat(s.rows()).isEqualTo(5);
            assertThat(s.tooLong()).isEqualTo(1);
            assertThat(s.at(0, 3).orElseThrow().text()).isEqualTo("q0");
            assertThat(s.at(0, 4).orElseThrow().text()).isEqualTo("y".repeat(48));
        }
    }

    @Test
    void aLargeFileIsReadInBlocksInOrder() throws IOException {
        try (PromptSource s = open(Configs.data(write("a.jsonl", lines(5000))))) {
            assertThat(s.rows()).isEqualTo(5000);
            assertThat(pass(s, 0)).isEqualTo(IntStream.range(0, 5000).mapToObj(i -> "q" + i).toList());
            assertThat(s.row(0, 4321).label()).isEqualTo("a4321");
        }
    }

    @Test
    void everyMistakeIsOneLineThatSaysWhereAndWhatWouldBeRight() throws IOException {
        Path bad = Files.write(dir.resolve("utf8.jsonl"), "{\"prompt\": \"a\", \"label\": \"b\"}\n{\"prompt\": \"\u00e9\", \"label\": \"b\"}\n"
                .getBytes(StandardCharsets.ISO_8859_1));
        Files.createDirectory(dir.resolve("folder.jsonl"));
        expect(dir.resolve("none.jsonl"), "no such file");
        expect(dir.resolve("folder.jsonl"), "is a directory");
        expect(write("a.txt", "x"), "must end in .jsonl, .parquet or .csv");
        expect(write("empty.jsonl", ""), "is empty");
        expect(bad, "line 2", "0xe9", "UTF-8");
        expect(write("col.jsonl", "{\"question\": \"a\", \"label\": \"b\"}\n"), "line 1", "'prompt'", "there are question, label");
        expect(write("col.csv", "question,label\na,b\n"), "'prompt'", "question, label");
        expect(write("mid.jsonl", lines(700) + "\n{\"prompt\": \"a\", \"label\": \n" + lines(3)), "line 702", "JSON");
        expect(write("array.jsonl", lines(2) + "[1, 2]\n"), "line 3", "JSON object");
        expect(write("type.jsonl", lines(2) + "{\"prompt\": 5, \"label\": \"b\"}\n"), "line 3", "'prompt'", "got number 5", "text or a list of chat messages");
        expect(write("null.jsonl", lines(1) + "{\"prompt\": \"a\", \"label\": null}\n"), "line 2", "'label'", "null");
        expect(write("role.jsonl", "{\"prompt\": [{\"content\": \"x\"}], \"label\": \"b\"}\n"), "line 1", "message 1", "a role and a content");
        expect(write("no.parquet", "this is no parquet file"), "can't be read");
    }

    private void expect(Path p, String... parts) {
        assertThatThrownBy(() -> open(Configs.data(p))).isInstanceOf(DatasetException.class)
                .satisfies(e -> assertThat(e.getMessage()).startsWith(p + ": ").contains(parts).doesNotContain("\n"));
    }

    @Test
    void theFirstRowsAreCheckedWithoutReadingTheRest() throws IOException {
        AdapterConfig config = Configs.basic().build();
        datasets.check(config, Configs.data(write("ok.jsonl", lines(700) + "{\"prompt\": 5}\n")));
        Path early = write("early.jsonl", lines(3) + "{\"prompt\": 5, \"label\": \"b\"}\n");
        assertThatThrownBy(() -> datasets.check(config, Configs.data(early))).hasMessageContaining("line 4");
    }
}
