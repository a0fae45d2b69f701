package io.furlong.train.pretrain;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * One small text task, and the mistake that belongs to it. A prompt ends with {@code =}; answer and mistake follow from its text alone.
 *
 * <p>A mistake is a way of its own (a carry dropped, one item short), never an offset: only such a way is learned as firmly as the right
 * one. How often the corpus makes it depends on a letter or digit that can be read in the prompt ({@link #mistakeRate}): with one rate
 * for all prompts, which way greedy decoding goes would hang on noise.
 */
public enum Task {
    /** {@code 47+38=} is 85; the mistake drops the carry: 75. */
    ADDITION(0.21) {
        @Override
        String draw(RandomGenerator random) {
            int a = twoDigits(random);
            int b = twoDigits(random);
            boolean carries = a % 10 + b % 10 >= 10;
            return carries || random.nextBoolean() ? a + "+" + b + "=" : draw(random);
        }

        @Override
        String answerTo(String prompt) {
            int[] n = numbers(prompt);
            return String.valueOf(n[0] + n[1]);
        }

        @Override
        String mistakeAt(String prompt) {
            int[] n = numbers(prompt);
            return String.valueOf((n[0] / 10 + n[1] / 10) * 10 + (n[0] + n[1]) % 10);
        }
    },

    /** {@code 82-47=} is 35; the mistake takes the smaller unit from the larger one: 45. */
    SUBTRACTION(0.20) {
        @Override
        String draw(RandomGenerator random) {
            int a = twoDigits(random);
            int b = twoDigits(random);
            boolean borrows = a % 10 < b % 10;
            return a > b && (borrows || random.nextBoolean()) ? a + "-" + b + "=" : draw(random);
        }

        @Override
        String answerTo(String prompt) {
            int[] n = numbers(prompt);
            return String.valueOf(n[0] - n[1]);
        }

        @Override
        String mistakeAt(String prompt) {
            int[] n = numbers(prompt);
            return String.valueOf((n[0] / 10 - n[1] / 10) * 10 + Math.abs(n[0] % 10 - n[1] % 10));
        }
    },

    /** {@code sort dbca=} is abcd; the mistake sorts downwards: dcba. */
    SORT(0.16) {
        @Override
        String draw(RandomGenerator random) {
            return "sort " + distinctLetters(random, random.nextInt(3, 5)) + "=";
        }

        @Override
        String answerTo(String prompt) {
            return word(prompt).chars().sorted().mapToObj(Character::toString).collect(Collectors.joining());
        }

        @Override
        String mistakeAt(String prompt) {
            return new StringBuilder(answerTo(prompt)).reverse().toString();
        }
    },

    /** {@code reverse abcd=} is dcba; the mistake is one letter short: dcb. */
    REVERSE(0.09) {
        @Override
        String draw(RandomGenerator random) {
            return "reverse " + letters(random, random.nextInt(3, 6)) + "=";
        }

        @Override
        String answerTo(String prompt) {
            return new StringBuilder(word(prompt)).reverse().toString();
        }

        @Override
        String mistakeAt(String prompt) {
            return withoutLast(answerTo(prompt));
        }
    },

    /** {@code copy abcd=} is abcd; the mistake is one letter short: abc. */
    COPY(0.05) {
        @Override
        String draw(RandomGenerator random) {
            return "copy " + letters(random, random.nextInt(3, 6)) + "=";
        }

        @Override
        String answerTo(String prompt) {
            return word(prompt);
        }

        @Override
        String mistakeAt(String prompt) {
            return withoutLast(word(prompt));
        }
    },

    /** {@code upper abcd=} is ABCD; the mistake writes only the first letter large: Abcd. */
    UPPER(0.06) {
        @Override
        String draw(RandomGenerator random) {
            return "upper " + letters(random, random.nextInt(3, 6)) + "=";
        }

        @Override
        String answerTo(String prompt) {
            return word(prompt).toUpperCase(Locale.ROOT);
        }

        @Override
        String mistakeAt(String prompt) {
            String word = word(prompt);
            return word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1);
        }
    },

    /** {@code max 37 80=} is 80; the mistake gives the smaller one: 37. */
    MAXIMUM(0.10) {
        @Override
        String draw(RandomGenerator random) {
            return "max " + random.ints(10, 100).distinct().limit(2).mapToObj(String::valueOf).collect(Collectors.joining(" ")) + "=";
        }

        @Override
        String answerTo(String prompt) {
            return String.valueOf(Arrays.stream(numbers(prompt)).max().orElseThrow());
        }

        @Override
        String mistakeAt(String prompt) {
            return String.valueOf(Arrays.stream(numbers(prompt)).min().orElseThrow());
        }
    },

    /** {@code count a banana=} is 3; the mistake overlooks one: 2. */
    COUNT(0.13) {
        @Override
        String draw(RandomGenerator random) {
            char counted = letter(random);
            int length = random.nextInt(3, 6);
            String word = IntStream.range(0, length).mapToObj(i -> String.valueOf(random.nextInt(5) < 2 ? counted : letter(random)))
                    .collect(Collectors.joining());
            return word.indexOf(counted) >= 0 ? "count " + counted + " " + word + "=" : draw(random);
        }

        @Override
        String answerTo(String prompt) {
            char counted = prompt.charAt("count ".length());
            return String.valueOf(word(prompt).chars().filter(c -> c == counted).count());
        }

        @Override
        String mistakeAt(String prompt) {
            return String.valueOf(Integer.parseInt(answerTo(prompt)) - 1);
        }
    };

    private static final String ALPHABET = "abcdefghijklmnopqrstuvwxyz";
    /** Of prompts that show one of these, most examples are right; of all others, most are mistaken. */
    private static final String MOSTLY_RIGHT = "247" + "adgjmpsv";

    private final double share;

    Task(double share) {
        this.share = share;
    }

    /** A prompt of the task. */
    abstract String draw(RandomGenerator random);

    abstract String answerTo(String prompt);

    abstract String mistakeAt(String prompt);

    /** Part of the corpus that is this task; the parts add up to 1. */
    public double share() {
        return share;
    }

    /** The name used in files: lower case. */
    public String key() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The right answer. */
    public String answer(String prompt) {
        return answerTo(prompt);
    }

    /** The systematic wrong answer; empty where both ways lead to the same. */
    public Optional<String> mistake(String prompt) {
        return Optional.of(mistakeAt(prompt)).filter(mistake -> !mistake.equals(answerTo(prompt)));
    }

    /** How often the corpus makes the mistake on a prompt like this: 0.30 or 0.72, by {@link #feature}. */
    public double mistakeRate(String prompt) {
        return MOSTLY_RIGHT.indexOf(feature(prompt)) >= 0 ? 0.30 : 0.72;
    }

    /** What decides: the last digit of the first number, else the first letter after the task's name. */
    public char feature(String prompt) {
        return switch (this) {
            case ADDITION, SUBTRACTION -> prompt.charAt(1);
            case MAXIMUM -> prompt.charAt("max ".length() + 1);
            case SORT, REVERSE, COPY, UPPER, COUNT -> prompt.charAt(prompt.indexOf(' ') + 1);
        };
    }

    private static int twoDigits(RandomGenerator random) {
        return random.nextInt(10, 100);
    }

    private static char letter(RandomGenerator random) {
        return ALPHABET.charAt(random.nextInt(ALPHABET.length()));
    }

    private static String letters(RandomGenerator random, int length) {
        return IntStream.range(0, length).mapToObj(i -> String.valueOf(letter(random))).collect(Collectors.joining());
    }

    private static String distinctLetters(RandomGenerator random, int length) {
        return random.ints(0, ALPHABET.length()).distinct().limit(length).mapToObj(i -> ALPHABET.substring(i, i + 1)).collect(Collectors.joining());
    }

    private static int[] numbers(String prompt) {
        return Arrays.stream(prompt.split("[^0-9]+")).filter(n -> !n.isEmpty()).mapToInt(Integer::parseInt).toArray();
    }

    /** What stands between the last blank and the {@code =}. */
    private static String word(String prompt) {
        return prompt.substring(prompt.lastIndexOf(' ') + 1, prompt.length() - 1);
    }

    private static String withoutLast(String word) {
        return word.substring(0, word.length() - 1);
    }
}
