package io.furlong.core;

import java.util.List;

/**
 * One response to one prompt. Arrays are owned by the sample and never written after construction.
 *
 * @param index        0 … n−1 within its group
 * @param promptIds    context before the first response token, shape [P]
 * @param responseIds  token ids exactly as the engine returned them, end token included, shape [R]
 * @param logProbs     the engine's log-prob of each response token, natural log, at the sample's temperature, shape [R]
 * @param lossMask     1 where the token is trained, 0 where not (tool output, say), shape [R]
 * @param text         the response as text, end token removed
 * @param finish       why it ended
 * @param temperature  the T it was sampled at; the policy's log-prob is log_softmax(logits / T)
 * @param reward       what the reward function said; 0 until scored
 * @param stamp        the weights it was pinned to
 * @param spans        slot mode only: which versions made which tokens, as the engine reports; empty otherwise
 * @param engine       the engine that answered, for per-engine figures
 */
public record Sample(int index, int[] promptIds, int[] responseIds, float[] logProbs, byte[] lossMask, String text,
                     FinishReason finish, double temperature, double reward, PolicyStamp stamp, List<VersionSpan> spans,
                     String engine) {
    public Sample {
        if (promptIds.length == 0) {
            throw new IllegalArgumentException("a sample needs a prompt");
        }
        if (logProbs.length != responseIds.length || lossMask.length != responseIds.length) {
            throw new IllegalArgumentException("sample " + index + ": " + responseIds.length + " response tokens, "
                    + logProbs.length + " log-probs, " + lossMask.length + " mask entries; must be equal");
        }
        spans = List.copyOf(spans);
    }

    public Sample withReward(double value) {
        return new Sample(index, promptIds, responseIds, logProbs, lossMask, text, finish, temperature, value, stamp, spans, engine);
    }

    /** Response tokens that are trained. */
    public int trainedTokens() {
        int sum = 0;
        for (byte b : lossMask) {
            sum += b;
        }
        return sum;
    }

    /** The version of the oldest weights that made a token of this sample. */
    public long oldestVersion() {
        long oldest = stamp.version();
        for (VersionSpan s : spans) {
            oldest = Math.min(oldest, s.version());
        }
        return oldest;
    }
}
