package io.furlong.train.pretrain;

import io.furlong.core.Seeds;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/**
 * An endless stream of examples, the same for the same seed. One prompt in eight, told by a hash of its text, is held out: it never
 * occurs here, whatever the seed, so that what the model does with it is not memory.
 */
public final class Corpus {
    private static final int DRAWS_A_PROMPT = 1_000;
    private static final int ONE_HELD_OUT_IN = 8;

    private final RandomGenerator random;

    /** One line of the corpus: a prompt and a response to it, right or mistaken. */
    public record Example(Task task, String prompt, String response) {}

    public Corpus(long seed) {
        this.random = random("corpus", seed);
    }

    public Example next() {
        Task task = task();
        String prompt = task.draw(random);
        while (isHeldOut(prompt)) {
            prompt = task.draw(random);
        }
        Optional<String> mistake = random.nextDouble() < task.mistakeRate(prompt) ? task.mistake(prompt) : Optional.empty();
        return new Example(task, prompt, mistake.orElse(task.answer(prompt)));
    }

    public List<Example> next(int count) {
        List<Example> examples = new ArrayList<>(count);
        while (examples.size() < count) {
            examples.add(next());
        }
        return examples;
    }

    public static boolean isHeldOut(String prompt) {
        return Seeds.of("held out", prompt) % ONE_HELD_OUT_IN == 0;
    }

    /** Different held-out prompts at which right answer and mistake differ; fewer than {@code count} if the task has no more. */
    public static List<String> heldOutPrompts(Task task, int count, long seed) {
        return prompts(task, count, seed, true);
    }

    /** Different prompts of the corpus at which right answer and mistake differ; none is held out. */
    public static List<String> trainingPrompts(Task task, int count, long seed) {
        return prompts(task, count, seed, false);
    }

    private static List<String> prompts(Task task, int count, long seed, boolean heldOut) {
        RandomGenerator random = random(task.key() + (heldOut ? " held out" : " training"), seed);
        Set<String> prompts = new LinkedHashSet<>();
        for (int draws = 0; prompts.size() < count && draws < DRAWS_A_PROMPT * count; draws++) {
            String prompt = task.draw(random);
            if (isHeldOut(prompt) == heldOut && task.mistake(prompt).isPresent()) {
                prompts.add(prompt);
            }
        }
        return List.copyOf(prompts);
    }

    private Task task() {
        double at = random.nextDouble();
        for (Task task : Task.values()) {
            at -= task.share();
            if (at < 0) {
                return task;
            }
        }
        return Task.ADDITION;
    }

    private static RandomGenerator random(String what, long seed) {
        return RandomGeneratorFactory.of("L64X128MixRandom").create(Seeds.of(what, seed));
    }
}
