package io.furlong.torch.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HfTokenizerTest {
    private static final String CONFIG = "{\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"</s>\"}}";

    @TempDir
    private Path directory;

    @Test
    void textComesBackFromItsIds() throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.characters(directory, CONFIG))) {
            assertThat(tokenizer.encode("ab z")).containsExactly(1, 3, 4, 29, 28);
            assertThat(tokenizer.decode(new int[] {1, 3, 4, 29, 28, 2})).isEqualTo("ab z");
            assertThat(tokenizer.decodeWithSpecialTokens(new int[] {1, 3, 2})).isEqualTo("<s>a</s>");
            assertThat(tokenizer.decode(new int[0])).isEmpty();
            assertThat(tokenizer.vocabSize()).isEqualTo(30);
        }
    }

    @Test
    void aTextThatBeginsWithTheBosTokenGetsNoSecondOne() throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.characters(directory, CONFIG))) {
            assertThat(tokenizer.encode("<s>ab")).containsExactly(1, 3, 4);
        }
    }

    @Test
    void longTextsAreNotCut() throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.characters(directory, CONFIG))) {
            assertThat(tokenizer.encode("a".repeat(20_000))).hasSize(20_001);
        }
    }

    @Test
    void theFingerprintChangesWithAnyOfTheFiles() throws Exception {
        String before;
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.characters(directory, CONFIG))) {
            before = tokenizer.fingerprint();
        }
        try (HfTokenizer again = HfTokenizer.load(directory)) {
            assertThat(again.fingerprint()).isEqualTo(before).hasSize(64);
        }
        Files.writeString(directory.resolve("chat_template.jinja"), "{{ messages }}");
        try (HfTokenizer changed = HfTokenizer.load(directory)) {
            assertThat(changed.fingerprint()).isNotEqualTo(before);
        }
    }

    @Test
    void manyVirtualThreadsMayUseOne() throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.characters(directory, CONFIG));
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<String>> texts = IntStream.range(0, 500)
                    .mapToObj(i -> threads.submit(() -> tokenizer.decode(tokenizer.encode("abc".repeat(i % 7 + 1))))).toList();
            for (int i = 0; i < texts.size(); i++) {
                assertThat(texts.get(i).get()).isEqualTo("abc".repeat(i % 7 + 1));
            }
        }
    }

    @Test
    void whatIsMissingOrBrokenIsOneLineNamingTheFile() throws Exception {
        assertThatThrownBy(() -> HfTokenizer.load(directory)).hasMessageContaining("tokenizer.json: no such file").hasMessageNotContaining("\n");
        Files.writeString(directory.resolve("tokenizer.json"), "{\"model\":\n nonsense}");
        assertThatThrownBy(() -> HfTokenizer.load(directory)).hasMessageContaining("tokenizer.json: line 2: not JSON").hasMessageNotContaining("\n");
        Files.writeString(directory.resolve("tokenizer.json"), "{\"model\":{}}");
        assertThatThrownBy(() -> HfTokenizer.load(directory)).hasMessageContaining("can read").hasMessageNotContaining("\n");
    }

    @Test
    void theChatTemplateKnowsTheSpecialTokens() throws Exception {
        CharacterTokenizerFiles.characters(directory, """
                {"bos_token":"<s>","chat_template":"{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"}""");
        try (HfTokenizer tokenizer = HfTokenizer.load(directory)) {
            assertThat(tokenizer.hasChatTemplate()).isTrue();
            assertThat(tokenizer.chat(List.of(Map.of("role", "user", "content", "ab")))).isEqualTo("<s>ab");
        }
    }

    @Test
    void aStreamGivesTheTextOfAllTokensAndNeverHalfACharacter() throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.bytes(directory))) {
            String text = "grün 漢字 and 🙂, then a long enough tail of plain words";
            TextStream stream = new TextStream(tokenizer);
            StringBuilder given = new StringBuilder();
            for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
                String piece = stream.add(b & 0xff);
                assertThat(piece).doesNotContain("\uFFFD");
                given.append(piece);
            }
            assertThat(given.append(stream.finish()).toString()).isEqualTo(text);
        }
    }

    @Test
    void aStreamThatEndsWithinACharacterSaysSoAtItsEnd() throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(CharacterTokenizerFiles.bytes(directory))) {
            TextStream stream = new TextStream(tokenizer);
            assertThat(stream.add('a')).isEqualTo("a");
            assertThat(stream.add(0xc3)).isEmpty();
            assertThat(stream.finish()).isEqualTo("\uFFFD");
        }
    }
}
