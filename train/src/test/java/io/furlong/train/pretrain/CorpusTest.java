package io.furlong.train.pretrain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.train.pretrain.Corpus.Example;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class CorpusTest {
    private static final List<Example> EXAMPLES = new Corpus(1).next(40_000);

    @ParameterizedTest
    @CsvSource({
        "ADDITION, 47+38=, 85, 75", "ADDITION, 95+38=, 133, 123", "ADDITION, 41+38=, 79, ''",
        "SUBTRACTION, 82-47=, 35, 45", "SUBTRACTION, 82-79=, 3, 17", "SUBTRACTION, 89-47=, 42, ''",
        "SORT, sort dbca=, abcd, dcba", "REVERSE, reverse abcd=, dcba, dcb", "COPY, copy abcd=, abcd, abc",
        "UPPER, upper abcd=, ABCD, Abcd", "MAXIMUM, max 37 80=, 80, 37", "COUNT, count a banana=, 3, 2",
    })
    void answerAndMistakeFollowFromThePrompt(Task task, String prompt, String answer, String mistake) {
        assertThat(task.answer(prompt)).isEqualTo(answer);
        assertThat(task.mistake(prompt).orElse("")).isEqualTo(mistake);
    }

    @Test
    void theSameSeedGivesTheSameCorpus() {
        assertThat(new Corpus(7).next(200)).isEqualTo(new Corpus(7).next(200)).isNotEqualTo(new Corpus(8).next(200));
    }

    @Test
    void everyResponseIsTheAnswerOrTheMistake() {
        assertThat(EXAMPLES).allSatisfy(e -> assertThat(e.response()).isIn(e.task().answer(e.prompt()), e.task().mistake(e.prompt()).orElse("")));
    }

    @Test
    void noHeldOutPromptOccurs() {
        assertThat(EXAMPLES).noneMatch(e -> Corpus.isHeldOut(e.prompt()));
    }

    @Test
    void arithmeticIsAtLeastFourTenthsAndTheSharesAddUp() {
        Map<Task, Long> counts = EXAMPLES.stream().collect(Collectors.groupingBy(Example::task, Collectors.counting()));
        assertThat((counts.get(Task.ADDITION) + counts.get(Task.SUBTRACTION)) / (double) EXAMPLES.size()).isGreaterThan(0.4);
        for (Task task : Task.values()) {
            assertThat(counts.get(task) / (double) EXAMPLES.size()).as(task.key()).isCloseTo(task.share(), within(0.01));
        }
        assertThat(Arrays.stream(Task.values()).mapToDouble(Task::share).sum()).isCloseTo(1, within(1e-9));
        assertThat(counts).hasSizeGreaterThanOrEqualTo(8);
    }

    @ParameterizedTest
    @EnumSource
    void mistakesAreAsFrequentAsThePromptsFeatureSays(Task task) {
        for (double rate : new double[] {0.30, 0.72}) {
            List<Example> shown = EXAMPLES.stream().filter(e -> e.task() == task && task.mistakeRate(e.prompt()) == rate)
                    .filter(e -> task.mistake(e.prompt()).isPresent()).toList();
            double mistaken = shown.stream().filter(e -> !e.response().equals(task.answer(e.prompt()))).count() / (double) shown.size();
            assertThat(mistaken).as("%s at %s over %s", task, rate, shown.size()).isCloseTo(rate, within(4 * 0.5 / Math.sqrt(shown.size())));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aboutThreePromptsInTenAreMostlyRight(Task task) {
        List<String> prompts = Corpus.trainingPrompts(task, 1_000, 3);
        double mostlyRight = prompts.stream().filter(p -> task.mistakeRate(p) == 0.30).count() / (double) prompts.size();
        assertThat(mostlyRight).isBetween(0.22, 0.38);
    }

    @ParameterizedTest
    @EnumSource
    void heldOutAndTrainingPromptsAreDisjointAndShowTheDifference(Task task) {
        List<String> training = Corpus.trainingPrompts(task, 500, 1);
        List<String> heldOut = Corpus.heldOutPrompts(task, 150, 2);
        assertThat(training).hasSize(500).doesNotHaveDuplicates().doesNotContainAnyElementsOf(heldOut);
        assertThat(heldOut).hasSize(150).doesNotHaveDuplicates().allMatch(p -> task.mistake(p).isPresent());
    }
}
