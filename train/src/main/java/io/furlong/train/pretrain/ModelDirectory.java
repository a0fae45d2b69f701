package io.furlong.train.pretrain;

import io.furlong.torch.BaseModel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Writes the model as a Hugging Face directory with its card. A reader of the directory sees whole files only: each is made aside and moved in. */
final class ModelDirectory {
    private final PretrainOptions options;

    ModelDirectory(PretrainOptions options) {
        this.options = options;
    }

    void write(BaseModel model, long step, List<TaskScore> scores) {
        try {
            Path target = options.output().toAbsolutePath();
            Files.createDirectories(target);
            Path aside = Files.createTempDirectory(target.getParent(), ".pretrain");
            model.save(aside);
            CharVocabulary.write(aside);
            Files.writeString(aside.resolve("README.md"), card(step, scores));
            try (Stream<Path> files = Files.list(aside)) {
                files.forEach(file -> move(file, target.resolve(file.getFileName())));
            }
            Files.delete(aside);
        } catch (IOException e) {
            throw new UncheckedIOException(options.output() + ": can't be written: " + e.getMessage(), e);
        }
    }

    private static void move(Path from, Path to) {
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String card(long step, List<TaskScore> scores) {
        StringBuilder table = new StringBuilder();
        for (TaskScore s : scores) {
            String prompt = Corpus.heldOutPrompts(s.task(), 1, 0).getFirst();
            table.append(String.format(Locale.ROOT, "| %s | `%s` | `%s` | `%s` | %.2f | %.2f | %.2f | %.3f | %.2f |%n", s.task().key(), prompt,
                    s.task().answer(prompt), s.task().mistake(prompt).orElseThrow(), s.right(), s.mistaken(), s.withinEight(), s.competence(), s.greedyRight()));
        }
        double error = scores.stream().mapToDouble(TaskScore::standardError).max().orElse(0);
        return """
                ---
                license: apache-2.0
                library_name: transformers
                pipeline_tag: text-generation
                ---
                # furlong-tiny

                A Llama of 797,824 parameters (4 layers, width 128, 4 query and 2 key/value heads of 32, MLP 384, tied embeddings) with a
                vocabulary of 80 tokens, one a character. It knows eight small text tasks, each in two ways: the right one, and a systematic
                mistake that it makes more often. It is made for one purpose: to show within a minute, without a GPU, that reinforcement
                learning turns it round. It is good for nothing else.

                ## How it was made

                From random weights, on a synthetic corpus that the program draws itself; no other data, no other model.

                    furlong pretrain --output %s --seed %d

                %,d of %,d optimizer steps of %d examples; loss on the answer and its end token only; AdamW, learning rate %s after
                %d steps of warm-up, flat to 60 %% of the steps, then linear to 0; betas 0.9/0.98, weight decay 0.01, gradients clipped at 1; one thread.
                The same command on the same machine gives the same bytes. On another kind of machine rounding differs, and greedy accuracy
                may differ by ± 0.05, accuracy at temperature 1 by ± 0.03, competence by ± 0.02.

                Whether an example shows the mistake depends on a character of its prompt (the last digit of the first number, or the first
                letter): 30 %% of the examples are mistaken for some characters, 72 %% for the others.

                ## What it does

                On %d prompts a task that the corpus never contains, all such that right answer and mistake differ. *T = 1*: chance of the right
                answer and of the mistake when sampling at temperature 1. *Within 8*: chance that one of eight samples is right. *Competence*: greedy answer is right or is
                the systematic mistake. Standard error of greedy at most %.2f.

                | task | prompt | right | mistake | T = 1 right | T = 1 mistaken | within 8 | competence | greedy right |
                |---|---|---|---|---|---|---|---|---|
                %s
                Generation ends with `</s>`. There is no sensible answer to any other kind of prompt.

                Licence: Apache-2.0.
                """.formatted(options.output().isAbsolute() ? options.output().getFileName() : options.output(), options.seed(), step, options.steps(), options.batch(), options.lr(), options.warmupSteps(),
                scores.isEmpty() ? 0 : scores.getFirst().prompts(), error, table);
    }
}
