package io.furlong.torch;

/**
 * Rotary position embedding: which angle each pair of a head's dimensions turns by per position.
 * Formulas as in Hugging Face transformers, {@code modeling_rope_utils.py}.
 *
 * @param theta   base of the geometric series of frequencies
 * @param scaling how it is stretched to longer contexts
 */
public record Rope(double theta, Scaling scaling) {

    /** How the frequencies are changed to reach beyond the context a model was first trained on. */
    public sealed interface Scaling {}

    /** Unchanged. */
    public record None() implements Scaling {}

    /** All frequencies divided by {@code factor}. */
    public record Linear(double factor) implements Scaling {}

    /** Unchanged up to the original context, which is all that is served here. */
    public record Dynamic(double factor) implements Scaling {}

    /** Llama 3.1: long waves divided by {@code factor}, short ones kept, a ramp between. */
    public record Llama3(double factor, double lowFreqFactor, double highFreqFactor, int originalContext) implements Scaling {}

    /** YaRN (arXiv:2309.00071): a ramp over dimensions, and logits scaled through {@code attentionFactor}. */
    public record Yarn(double factor, int originalContext, double betaFast, double betaSlow, double attentionFactor, Truncation truncation) implements Scaling {}

    /** Whether YaRN's ramp begins and ends at whole dimensions. */
    public enum Truncation { WHOLE, EXACT }

    /** Factor on cos and sin. */
    public double attentionFactor() {
        return scaling instanceof Yarn yarn ? yarn.attentionFactor() : 1.0;
    }

    /** Radians per position of each pair, shape {@code [headDim / 2]}. */
    public float[] frequencies(int headDim) {
        int half = headDim / 2;
        double[] plain = new double[half];
        for (int i = 0; i < half; i++) {
            plain[i] = 1.0 / Math.pow(theta, 2.0 * i / headDim);
        }
        float[] out = new float[half];
        for (int i = 0; i < half; i++) {
            out[i] = (float) switch (scaling) {
                case None _, Dynamic _ -> plain[i];
                case Linear(double factor) -> plain[i] / factor;
                case Llama3 llama3 -> stretched(plain[i], llama3);
                case Yarn yarn -> {
                    double keep = 1 - ramp(i, yarn, headDim);
                    yield plain[i] / yarn.factor() * (1 - keep) + plain[i] * keep;
                }
            };
        }
        return out;
    }

    private static double stretched(double frequency, Llama3 s) {
        double wave = 2 * Math.PI / frequency;
        double longest = s.originalContext() / s.lowFreqFactor();
        double shortest = s.originalContext() / s.highFreqFactor();
        if (wave > longest) {
            return frequency / s.factor();
        }
        if (wave < shortest) {
            return frequency;
        }
        double smooth = (s.originalContext() / wave - s.lowFreqFactor()) / (s.highFreqFactor() - s.lowFreqFactor());
        return (1 - smooth) * frequency / s.factor() + smooth * frequency;
    }

    private double ramp(int i, Yarn s, int headDim) {
        double low = dimensionTurning(s.betaFast(), s, headDim);
        double high = dimensionTurning(s.betaSlow(), s, headDim);
        if (s.truncation() == Truncation.WHOLE) {
            low = Math.floor(low);
            high = Math.ceil(high);
        }
        low = Math.max(low, 0);
        high = Math.min(high, headDim - 1);
        if (low == high) {
            high += 0.001;
        }
        return Math.clamp((i - low) / (high - low), 0.0, 1.0);
    }

    /** The (fractional) dimension that makes {@code turns} full turns within the original context. */
    private double dimensionTurning(double turns, Yarn s, int headDim) {
        return headDim * Math.log(s.originalContext() / (turns * 2 * Math.PI)) / (2 * Math.log(theta));
    }
}
