package io.furlong.sglang;

import io.furlong.wire.FinishReason;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.SamplingParams;
import io.furlong.wire.TokenLogprob;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * Proof that an engine applies an adapter: its log-probs of the probe tokens, by prefill, against the trainer's with and without the
 * adapter; and those of eight tokens that it decodes itself, against what it says of the same tokens by prefill, since the two paths run
 * different kernels and either was seen to drop an adapter. The name and path already prove which adapter it is.
 */
final class Canary {
    private static final int DECODED = 8;
    /** Only a difference of so many noise floors counts as one. */
    private static final double CLEAR = 5;
    /** The embedded engine computes in float32 as the trainer does, nats. */
    private static final double EXACT = 1e-4;
    /** An engine this far from the trainer without any adapter in the way serves another base model, nats. */
    private static final double OTHER_MODEL = 0.5;
    /** A version without effect: what the trainer's two answers may differ by, nats. */
    private static final double NO_EFFECT = 1e-6;

    private Canary() {}

    /** What came of it. {@code gap} is the largest |Δ| to the trainer's log-probs with the adapter, nats. */
    sealed interface Verdict {
        double gap();

        /** The engine's answer is the trainer's with the adapter. */
        record Applied(double gap, NoiseFloor seen) implements Verdict {}

        /** With and without the adapter differ by less than this engine's noise: nothing can be said. */
        record Inconclusive(double gap, NoiseFloor seen, Effect effect) implements Verdict {}

        /** The engine does not apply the adapter, or not rightly. */
        record Rejected(double gap, String reason) implements Verdict {}

        /** Whether the adapter changes anything at all: if not, what was seen is the engine's noise. */
        enum Effect { NONE, BELOW_NOISE }
    }

    /**
     * The engine's log-probs, natural log.
     *
     * @param prefill      of the probe tokens after the first, shape [P − 1]
     * @param decode       of the tokens it then made, greedily, shape [D]
     * @param decodeAgain  of the same tokens by prefill, shape [D]
     */
    record Reading(float[] prefill, float[] decode, float[] decodeAgain) {}

    /** Asks the engine. @throws Unanswered when the answers are no whole ones */
    static Reading read(SglangClient client, HeldVersion version, Duration deadline) throws EngineException, Unanswered, InterruptedException {
        int[] probe = version.probeTokens();
        GenerateResponse made = ask(client, version, probe, 0, DECODED, deadline);
        int[] tokens = made.outputIds();
        float[] prefill = logprobs(made.metaInfo().inputTokenLogprobs().orElse(List.of()), probe, 1);
        float[] decode = logprobs(made.metaInfo().outputTokenLogprobs().orElse(List.of()), tokens, 0);
        int[] both = Arrays.copyOf(probe, probe.length + tokens.length);
        System.arraycopy(tokens, 0, both, probe.length, tokens.length);
        GenerateResponse again = ask(client, version, both, 0, 1, deadline);
        float[] all = logprobs(again.metaInfo().inputTokenLogprobs().orElse(List.of()), both, 1);
        return new Reading(prefill, decode, Arrays.copyOfRange(all, probe.length - 1, all.length));
    }

    private static GenerateResponse ask(SglangClient client, HeldVersion version, int[] ids, int from, int tokens, Duration deadline)
            throws EngineException, Unanswered, InterruptedException {
        GenerateRequest request = GenerateRequest.ofIds(ids, SamplingParams.builder().temperature(0).maxNewTokens(tokens).samplingSeed(0).ignoreEos(true).build())
                .withLogprobs(from, 0, List.of()).withRid(Rid.fresh(version.adapter())).withAdapter(version.name())
                .withExtraKey(version.stamp().extraKey(version.adapter()));
        GenerateResponse response = client.generate(request, deadline);
        if (response.metaInfo().finishReason().orElse(null) instanceof FinishReason.Abort abort) {
            throw new Unanswered("the engine aborted the probe: " + abort.message());
        }
        return response;
    }

    /** A missing or null log-prob comes out as NaN, which no verdict takes for right. */
    private static float[] logprobs(List<TokenLogprob> triples, int[] tokens, int from) {
        float[] values = new float[tokens.length - from];
        Arrays.fill(values, Float.NaN);
        for (int i = from; i < Math.min(tokens.length, triples.size()); i++) {
            values[i - from] = triples.get(i).tokenId() == tokens[i] ? triples.get(i).logprob() : Float.NaN;
        }
        return values;
    }

    /**
     * Judges.
     *
     * @param noise    the engine's
     * @param embedded whether it computes as the trainer does
     */
    static Verdict judge(HeldVersion version, Reading reading, NoiseFloor noise, Engines embedded) {
        float[] with = version.probeLogProbs();
        float[] without = version.probeBaseLogProbs();
        double gap = max(reading.prefill, with);
        NoiseFloor seen = new NoiseFloor(mean(reading.prefill, with), mean(reading.decode, reading.decodeAgain));
        if (!Double.isFinite(gap) || !Double.isFinite(seen.decode())) {
            return new Verdict.Rejected(gap, "log-probs of the probe are missing or not finite");
        }
        if (embedded == Engines.EMBEDDED) {
            double worst = Math.max(gap, max(reading.decode, reading.decodeAgain));
            return worst <= EXACT ? new Verdict.Applied(gap, seen)
                    : new Verdict.Rejected(gap, "log-probs of the probe are off by " + worst + " nats, at most " + EXACT + " is right");
        }
        double effect = mean(with, without);
        if (effect <= NO_EFFECT) {
            return seen.prefill() > OTHER_MODEL
                    ? new Verdict.Rejected(gap, "log-probs of the probe are off by " + seen.prefill() + " nats on average with an adapter that does nothing: another base model?")
                    : new Verdict.Inconclusive(gap, seen, Verdict.Effect.NONE);
        }
        if (effect <= CLEAR * noise.prefill()) {
            return new Verdict.Inconclusive(gap, seen, Verdict.Effect.BELOW_NOISE);
        }
        double toBase = mean(reading.prefill, without);
        if (seen.prefill() >= toBase) {
            return new Verdict.Rejected(gap, "log-probs of the probe are nearer to those without the adapter (" + toBase + " nats) than with it (" + seen.prefill() + ")");
        }
        if (seen.decode() > CLEAR * noise.decode() && seen.decode() > effect / 2) {
            return new Verdict.Rejected(gap, "decoding and prefill disagree by " + seen.decode() + " nats under the adapter: one of them drops it");
        }
        return new Verdict.Applied(gap, seen);
    }

    /** Which kind of engine was asked. */
    enum Engines { EMBEDDED, OTHER }

    private static double mean(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += Math.abs((double) a[i] - b[i]);
        }
        return a.length == 0 ? 0 : sum / a.length;
    }

    private static double max(float[] a, float[] b) {
        double max = 0;
        for (int i = 0; i < a.length; i++) {
            double d = Math.abs((double) a[i] - b[i]);
            max = Double.isNaN(d) ? Double.NaN : Math.max(max, d);
            if (Double.isNaN(max)) {
                return max;
            }
        }
        return max;
    }

    /** The probe was not answered as asked. */
    static final class Unanswered extends Exception {
        private static final long serialVersionUID = 1L;

        Unanswered(String message) {
            super(message);
        }
    }
}
