package io.furlong.rollout.reward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.core.FinishReason;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.RegistrationId;
import io.furlong.core.Sample;
import io.furlong.rollout.reward.MathScorer.Answer;
import io.furlong.rollout.reward.MathScorer.Side;
import io.furlong.rollout.reward.MathScorer.Verdict;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MathScorerTest {
    @ParameterizedTest
    @CsvSource(delimiter = '¦', value = {
        // the same value, written in another way
        "\\text{13} ¦ 13", "7,425,000 ¦ 7425000", "\\frac{1}{3} \\text{meters} ¦ 1/3", "\\text{(C)} ¦ \\text{C}", "(0,1) ¦ 0,1",
        "(1,4.5) ¦ (1,\\frac{9}{2})", "14.0 + -1.0i ¦ 14 - i", "-1 + exp(16) ¦ e^{16} - 1", "\\sec^2(y) ¦ \\tan^2(y)+1",
        "-34x-45y+20z-100=0 ¦ 34x+45y-20z+100=0", "0.5 ¦ \\dfrac12", "\\sqrt{12} ¦ 2\\sqrt3", "\\frac{1}{\\sqrt{2}} ¦ \\frac{\\sqrt{2}}{2}",
        "(x+1)^2 ¦ x^2+2x+1", "x = 5 ¦ 5", "y=2x+1 ¦ 2x+1", "2, 1 ¦ 1, 2", "\\{1, 2\\} ¦ \\{2, 1\\}", "1\\frac12 ¦ 1.5",
        "\\sqrt[3]{16} ¦ 2\\sqrt[3]{2}", "50\\% ¦ 50", "\\$5.00 ¦ 5", "90^\\circ ¦ 90", "2^{10} ¦ 1024", "5! ¦ 120", "\\binom{5}{2} ¦ 10",
        "\\frac{x^2-1}{x-1} ¦ x+1", "x<3 ¦ 3>x", "-\\frac{1}{2} ¦ \\frac{-1}{2}", "1.2\\times 10^3 ¦ 1200", "2^{x+1} ¦ 2\\cdot 2^x",
        "\\pm 2 ¦ 2, -2", "3 \\pm 1 ¦ \\{2, 4\\}", "[0,1) \\cup (2,3] ¦ (2,3] \\cup [0,1)", "\\left(\\frac{1}{2}, 3\\right) ¦ (0.5,3)", "Paris ¦ \\text{paris}",
        "\\log_2 8 ¦ \\frac{\\ln 8}{\\ln 2}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix} ¦ \\begin{bmatrix} 1 \\\\ 2 \\end{bmatrix}",
        "x^{1/2} ¦ \\sqrt{x}", "3\\pi/4 ¦ \\frac{3\\pi}{4}", "10,\\!000 ¦ 10000", "2021! ¦ 2021 \\cdot 2020!", "5 apples ¦ 5", "|-3| ¦ 3"})
    void theSame(String prediction, String gold) {
        assertThat(MathScorer.compare(prediction, gold)).isEqualTo(new Verdict(Side.PARSED, Side.PARSED, Answer.SAME));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '¦', value = {
        "\\frac{1}{2006!} ¦ \\frac{1}{2004!}", "n=1, 2, 3 ¦ n=2, 3, 4", "F_n=\\sum_{k=0}^{n-2}F_kF_{n-k-2} ¦ F_n=\\sum_{k=0}^{n-1}F_kF_{n-k-1}",
        "\\frac{1}{3\\cdot 2^{2006}} ¦ \\frac{2^{2005}+1}{3\\cdot 2^{2006}}", "2021 ¦ \\pm 2021", "1, 3, 5, \\ldots, 2n-1 ¦ 1, 2, \\ldots, n",
        "4\\sqrt(2) ¦ 4", "\\forall x>0, f(x) = 0 ¦ f(x) = 0", "x^2/16+y^2/12=1 ¦ x^2/4+y^2/3=1", "0 < x < 12.5 ¦ (0, 12.5)",
        "Theta(log log n) ¦ O(\\log \\log n)", "0.290243 ¦ 0.29", "(+5)(b+2) ¦ (a+5)(b+2)", "1 ¦ 1\\sqrt{19}", "{1,3} ¦ (3,1)", "[0,1) ¦ [0,9)",
        "1 ¦ 2x + z = 1", "1.22 ¦ 1,22", "1234 ¦ 12,34", "\\frac{12}{3} ¦ \\frac{1}{23}", "f(y) ¦ f(x)", "0.333333 ¦ \\frac13", "(0,1] ¦ (0,1)",
        "(1,2) ¦ (2,1)", "x ¦ y", "1 2 ¦ 2", "7 ¦ x=8", "10_2 ¦ 10", "2^{2006} ¦ 2^{2005}", "\\text{B} ¦ \\text{C}", "5 ¦ 5, 6", "x>3 ¦ x<3",
        "9**9**9 ¦ 3.5", "9^{9^{9}} ¦ 9^{9^{8}}", "x+1 ¦ x", "\\sin x ¦ \\cos x", "1/0 ¦ 5", "sin(x)=1/2 ¦ 1/2"})
    void notTheSame(String prediction, String gold) {
        assertThat(MathScorer.compare(prediction, gold).answer()).isEqualTo(Answer.DIFFERENT);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '¦', value = {
        "so \\fbox{42} ¦ 42", "first \\boxed{1}. then the answer is \\boxed{1} because ¦ 1", "\\boxed{1,2} ¦ \\boxed{1}\\boxed{2}",
        "<answer>\\boxed{42}</answer> ¦ 42", "\\boxed{\\frac{1}{\\sqrt{2}}} and so on ¦ \\frac{\\sqrt 2}{2}", "it follows that\\n#### 7 ¦ 7",
        "The answer is: 12. ¦ 12", "19 ¦ 19", "\\boxed{3} no wait \\boxed{4} ¦ 4"})
    void theAnswerIsFoundWhereItIsGiven(String response, String gold) throws Exception {
        assertThat(score(response.replace("\\n", "\n"), gold)).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '¦', value = {"\\boxed{5} and then \\boxed{4 ¦ 5", "\\boxed{4} then \\boxed{5} is wrong ¦ 4", "I think \\boxed{} ¦ 1", "'' ¦ 1"})
    void anUnfinishedEmptyOrEarlierBoxIsNoAnswer(String response, String gold) throws Exception {
        assertThat(score(response, gold)).isZero();
    }

    @Test
    void aLabelThatIsProseSkipsTheRow() {
        for (String prose : List.of("9. Anya needs to climb three more steps", "the cat sat on the mat", "\\sum_{k} k")) {
            assertThatThrownBy(() -> score("\\boxed{9}", prose)).isInstanceOf(UnscorableException.class);
        }
    }

    @Test
    void longAndDegenerateTextsTakeBoundedTimeAndNeverThrow() {
        List<String> texts = List.of("(".repeat(1900), "9^".repeat(900) + "9", "(x+y+z+w)^{60}", "x".repeat(100_000), "\\frac".repeat(390),
                "\\boxed{".repeat(5000), "1+".repeat(999) + "1", "\\sqrt{".repeat(300) + "2" + "}".repeat(300), "-".repeat(1999), "|".repeat(1999),
                "((((x+1)^{64}+y)^{64}+z)^{64})", "3000!^{3000}", "\\sqrt{3000!}", "2^{-99999999999}", "f(".repeat(900), "\\text{".repeat(300),
                "\\text{1".repeat(90) + "}".repeat(90));
        long before = System.nanoTime();
        for (String a : texts) {
            assertThat(MathScorer.compare(a, "1").gold()).isEqualTo(Side.PARSED);
            MathScorer.compare("1", a);
            BoxedAnswer.of(a);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(20));
    }

    @Test
    void randomTextsNeverThrowAndEveryUnderstoodOneIsTheSameAsItself() {
        String[] parts = {"1", "23", ".5", "x", "y_1", "+", "-", "*", "/", "^", "(", ")", "[", "]", "{", "}", "\\{", "\\}", ",", "=", "<", "\\frac", "\\sqrt",
            "\\pi", "!", "\\pm", "\\text{a b}", "|", "\\sin", "\\log", "_", "e", "i", " ", "\\begin{pmatrix}", "&", "\\\\", "\\end{pmatrix}", "word", "\\cup"};
        Random r = new Random(5);
        int understood = 0;
        for (int n = 0; n < 20_000; n++) {
            StringBuilder text = new StringBuilder();
            for (int i = 1 + r.nextInt(9); i > 0; i--) {
                text.append(parts[r.nextInt(parts.length)]);
            }
            Verdict v = MathScorer.compare(text.toString(), text.toString());
            understood += v.gold() == Side.PARSED ? 1 : 0;
            assertThat(v.answer() == Answer.SAME).as(text.toString()).isEqualTo(v.gold() == Side.PARSED);
        }
        assertThat(understood).isGreaterThan(500);
    }

    private static double score(String response, String label) throws UnscorableException {
        PolicyStamp stamp = new PolicyStamp(RegistrationId.random(), 1, 0, "0".repeat(64), "a");
        Prompt p = new Prompt(0, 0, "q", new int[] {1}, label, Map.of(), 0, 0);
        return new MathReward().score(p, new Sample(0, new int[] {1}, new int[0], new float[0], new byte[0], response, FinishReason.STOP, 1, 0,
                stamp, List.of(), "e"));
    }
}
