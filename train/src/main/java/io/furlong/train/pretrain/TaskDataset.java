package io.furlong.train.pretrain;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A task as a dataset for reinforcement learning: {@code train.jsonl} and {@code heldout.jsonl}, columns {@code text} and {@code label}.
 * Prompts are different from one another, and only such that show the base model's mistake; held-out ones are those that pretraining
 * never saw, so no prompt is in both files. The same arguments give the same bytes.
 *
 * @param trainingRows rows of {@code train.jsonl}
 * @param heldOutRows  rows of {@code heldout.jsonl}
 */
public record TaskDataset(Task task, int trainingRows, int heldOutRows, long seed) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** One line of a file. */
    record Row(String text, String label) {}

    /** The datasets of the quickstart. */
    public static final List<TaskDataset> QUICKSTART =
            List.of(quickstart(Task.ADDITION), quickstart(Task.SORT), quickstart(Task.UPPER));

    private static TaskDataset quickstart(Task task) {
        return new TaskDataset(task, 512, 200, 1);
    }

    /** @param directory made if it isn't there */
    public void write(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("train.jsonl"), lines(Corpus.trainingPrompts(task, trainingRows, seed)));
        Files.writeString(directory.resolve("heldout.jsonl"), lines(Corpus.heldOutPrompts(task, heldOutRows, seed)));
    }

    private String lines(List<String> prompts) {
        return prompts.stream().map(this::line).collect(Collectors.joining());
    }

    private String line(String prompt) {
        try {
            return JSON.writeValueAsString(new Row(prompt, task.answer(prompt))) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("two strings are always JSON", e);
        }
    }
}
