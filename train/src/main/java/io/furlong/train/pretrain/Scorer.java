package io.furlong.train.pretrain;

import io.furlong.torch.Decoder;
import io.furlong.torch.Scope;
import io.furlong.torch.Sequence;
import io.furlong.torch.Torch;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Scores a model without sampling: the chance of an answer at temperature 1 is the product of its tokens' probabilities, and greedy
 * decoding gives an answer exactly when each of its tokens is the most likely one after those before it. Both come from one forward
 * over prompt and answer, so the figures are exact for the prompts used.
 */
final class Scorer {
    private static final int PROMPTS_AT_ONCE = 128;

    private Scorer() {}

    /** Chance of one answer at temperature 1, and whether it is the greedy one. */
    record Outlook(double chance, boolean greedy) {}

    /** @param seed of the choice of held-out prompts */
    static TaskScore score(Decoder decoder, Task task, int count, long seed) {
        List<String> heldOut = Corpus.heldOutPrompts(task, count, seed);
        int prompts = heldOut.size();
        List<Outlook> answers = outlook(decoder, heldOut, heldOut.stream().map(task::answer).toList());
        List<Outlook> mistakes = outlook(decoder, heldOut, heldOut.stream().map(p -> task.mistake(p).orElseThrow()).toList());
        double right = 0;
        double mistaken = 0;
        double withinEight = 0;
        double greedyRight = 0;
        double competence = 0;
        for (int i = 0; i < prompts; i++) {
            Outlook answer = answers.get(i);
            Outlook mistake = mistakes.get(i);
            right += answer.chance();
            mistaken += mistake.chance();
            withinEight += 1 - Math.pow(1 - answer.chance(), 8);
            greedyRight += answer.greedy() ? 1 : 0;
            competence += answer.greedy() || mistake.greedy() ? 1 : 0;
        }
        return new TaskScore(task, prompts, right / prompts, mistaken / prompts, withinEight / prompts, greedyRight / prompts, competence / prompts);
    }

    static List<Outlook> outlook(Decoder decoder, List<String> prompts, List<String> answers) {
        List<Outlook> all = new ArrayList<>();
        for (int from = 0; from < prompts.size(); from += PROMPTS_AT_ONCE) {
            int to = Math.min(prompts.size(), from + PROMPTS_AT_ONCE);
            List<Line> lines = new ArrayList<>();
            for (int i = from; i < to; i++) {
                lines.add(Line.of(prompts.get(i), answers.get(i)));
            }
            Torch.noGrad(() -> all.addAll(outlook(decoder, lines)));
        }
        return all;
    }

    static List<Outlook> outlook(Decoder decoder, List<Line> lines) {
        try (Scope scope = new Scope()) {
            Line.Targets targets = Line.targets(lines);
            Tensor hidden = decoder.forward(lines.stream().map(line -> Sequence.ofBase(line.input())).toList());
            Tensor logProbs = torch.log_softmax(decoder.logits(hidden.index_select(0, torch.tensor(targets.rows()))), 1);
            float[] chosen = floats(logProbs.gather(1, torch.tensor(targets.tokens()).unsqueeze(1)).squeeze(1));
            long[] best = longs(logProbs.argmax(new LongOptional(1), false));
            List<Outlook> outlooks = new ArrayList<>();
            int at = 0;
            for (Line line : lines) {
                double sum = 0;
                boolean greedy = true;
                for (int i = 0; i < line.targets(); i++, at++) {
                    sum += chosen[at];
                    greedy &= best[at] == targets.tokens()[at];
                }
                outlooks.add(new Outlook(Math.exp(sum), greedy));
            }
            return outlooks;
        }
    }

    private static float[] floats(Tensor tensor) {
        float[] values = new float[(int) tensor.numel()];
        tensor.contiguous().data_ptr_float().get(values);
        return values;
    }

    private static long[] longs(Tensor tensor) {
        long[] values = new long[(int) tensor.numel()];
        tensor.contiguous().data_ptr_long().get(values);
        return values;
    }
}
