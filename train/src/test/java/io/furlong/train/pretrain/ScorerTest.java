package io.furlong.train.pretrain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.Sequence;
import io.furlong.torch.Torch;
import io.furlong.torch.TorchThread;
import io.furlong.train.pretrain.Scorer.Outlook;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

final class ScorerTest {
    private static final List<String> PROMPTS = List.of("47+38=", "sort dbca=");

    @Test
    void anAnswersChanceIsTheProductOfItsStepsAndGreedyMeansEachStepIsTheLikeliest() {
        try (TorchThread thread = new TorchThread("scorer-test")) {
            thread.run(() -> {
                try (BaseModel model = BaseModel.random(Pretrainer.modelConfig(), 3); Decoder decoder = new Decoder(model)) {
                    List<String> answers = List.of("85", "abcd");
                    List<Outlook> outlooks = Scorer.outlook(decoder, PROMPTS, answers);
                    for (int i = 0; i < PROMPTS.size(); i++) {
                        assertThat(outlooks.get(i).chance()).isCloseTo(chance(decoder, PROMPTS.get(i), answers.get(i)), within(1e-9));
                        assertThat(outlooks.get(i).greedy()).isFalse();
                    }
                }
            });
        }
    }

    @Test
    void theAnswerThatGreedyDecodingGivesIsRecognised() {
        try (TorchThread thread = new TorchThread("scorer-test")) {
            thread.run(() -> {
                try (BaseModel model = BaseModel.random(Pretrainer.modelConfig(), 3); Decoder decoder = new Decoder(model)) {
                    Line greedy = greedy(decoder, PROMPTS.getFirst(), 4);
                    int[] changed = greedy.tokens().clone();
                    changed[changed.length - 2] = (changed[changed.length - 2] + 1) % CharVocabulary.SIZE;
                    List<Outlook> outlooks = Torch.noGrad(() -> Scorer.outlook(decoder, List.of(greedy, new Line(changed, greedy.promptTokens()))));
                    assertThat(outlooks.getFirst().greedy()).isTrue();
                    assertThat(outlooks.getLast().greedy()).isFalse();
                    assertThat(outlooks.getFirst().chance()).isGreaterThan(outlooks.getLast().chance());
                }
            });
        }
    }

    private static Line greedy(Decoder decoder, String prompt, int length) {
        int[] tokens = CharVocabulary.encode(prompt);
        for (int i = 0; i < length; i++) {
            int[] before = tokens;
            Tensor hidden = Torch.noGrad(() -> decoder.forward(List.of(Sequence.ofBase(before))));
            tokens = Arrays.copyOf(tokens, tokens.length + 1);
            tokens[tokens.length - 1] = (int) decoder.logits(hidden.narrow(0, before.length - 1, 1)).argmax().item_long();
        }
        return new Line(tokens, prompt.length());
    }

    private static double chance(Decoder decoder, String prompt, String answer) {
        int[] tokens = CharVocabulary.encode(prompt + answer);
        tokens = Arrays.copyOf(tokens, tokens.length + 1);
        tokens[tokens.length - 1] = CharVocabulary.END;
        double chance = 1;
        for (int at = prompt.length(); at < tokens.length; at++) {
            int[] before = Arrays.copyOf(tokens, at);
            Tensor hidden = Torch.noGrad(() -> decoder.forward(List.of(Sequence.ofBase(before))));
            Tensor probabilities = torch.softmax(decoder.logits(hidden.narrow(0, at - 1, 1)), 1);
            chance *= probabilities.select(1, tokens[at]).item_float();
        }
        return chance;
    }
}
