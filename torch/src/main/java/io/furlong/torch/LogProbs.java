package io.furlong.torch;

import java.util.Optional;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** Log-probabilities of tokens, natural log: {@code log_softmax(logits / T)[token]}. */
public final class LogProbs {
    /** Logit entries made at once when nothing is recorded for autograd: 64 MiB. */
    private static final int LARGEST_CHUNK = 1 << 24;

    private LogProbs() {}

    /**
     * Log-probability of one token per row, under a temperature per row.
     *
     * <p>Only these rows reach the LM head. Without autograd at most 64 MiB of logits exist at a time.
     *
     * @param hidden       {@code [rows, hidden]}, from {@link Decoder#forward}
     * @param tokens       the token of each row
     * @param temperatures T of each row, above 0
     * @return float32 {@code [rows]}
     */
    public static Tensor of(Decoder decoder, Tensor hidden, int[] tokens, float[] temperatures) {
        if (tokens.length != hidden.size(0) || temperatures.length != tokens.length) {
            throw new IllegalArgumentException(hidden.size(0) + " rows, " + tokens.length + " tokens and " + temperatures.length + " temperatures must be as many");
        }
        try (Scope scope = new Scope()) {
            Tensor token = torch.tensor(tokens).to(torch.ScalarType.Long).unsqueeze(1);
            Optional<Tensor> temperature = temperature(temperatures);
            int rows = tokens.length;
            int chunk = GradMode.is_enabled() ? rows : Math.max(1, LARGEST_CHUNK / decoder.model().config().vocabSize());
            if (rows <= chunk) {
                return scope.give(of(decoder, hidden, token, temperature));
            }
            TensorVector parts = new TensorVector();
            for (int at = 0; at < rows; at += chunk) {
                int from = at;
                int n = Math.min(chunk, rows - at);
                try (Scope inner = new Scope()) {
                    parts.push_back(of(decoder, hidden.narrow(0, from, n), token.narrow(0, from, n), temperature.map(t -> t.narrow(0, from, n))));
                }
            }
            return scope.give(torch.cat(parts, 0));
        }
    }

    private static Tensor of(Decoder decoder, Tensor hidden, Tensor token, Optional<Tensor> temperature) {
        Tensor logits = decoder.logits(hidden);
        temperature.ifPresent(logits::div_);
        return torch.log_softmax(logits, 1).gather(1, token).squeeze(1);
    }

    private static Optional<Tensor> temperature(float[] temperatures) {
        boolean plain = true;
        for (float t : temperatures) {
            if (!(t > 0)) {
                throw new IllegalArgumentException("temperature is " + t + ", must be above 0");
            }
            plain &= t == 1f;
        }
        return plain ? Optional.empty() : Optional.of(Tensor.create(temperatures, temperatures.length, 1));
    }
}
