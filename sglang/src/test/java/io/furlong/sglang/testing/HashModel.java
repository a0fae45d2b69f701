package io.furlong.sglang.testing;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * A model that is a hash: log-probs of a sequence under an adapter, the same in every process, near the trainer's by construction. An
 * adapter moves each log-prob by up to its effect; an engine's noise moves it a little more.
 */
public final class HashModel {
    public static final int VOCAB = 96;

    private HashModel() {}

    /** What an adapter does: nats by which it moves log-probs at most, and which way, by its digest. NaN is an adapter gone bad. */
    public record Delta(String digest, double effect) {
        public static final Delta NONE = new Delta("", 0);
    }

    /** Log-prob of {@code token} at {@code position}, natural log. */
    public static float logProb(int token, int position, Delta delta, double noise, String engine) {
        double base = -0.5 - 2 * unit("base", token, position);
        double moved = delta.effect() == 0 ? 0 : delta.effect() * (unit(delta.digest(), token, position) - 0.5) * 2;
        double wobble = noise == 0 ? 0 : noise * (unit(engine, token, position) - 0.5) * 2;
        return (float) Math.min(0, base + moved + wobble);
    }

    /** Of each token after the first, shape [P − 1]. */
    public static float[] probe(int[] tokens, Delta delta) {
        float[] all = new float[tokens.length - 1];
        for (int i = 1; i < tokens.length; i++) {
            all[i - 1] = logProb(tokens[i], i, delta, 0, "");
        }
        return all;
    }

    /** The token that follows at {@code position}. */
    public static int next(String seed, int position, Delta delta) {
        return 1 + (int) (unit(seed + delta.digest(), 7, position) * (VOCAB - 2));
    }

    private static double unit(String what, int token, int position) {
        CRC32 crc = new CRC32();
        crc.update((what + ":" + token + ":" + position).getBytes(StandardCharsets.UTF_8));
        long h = crc.getValue() * 0x9E3779B97F4A7C15L;
        return (h >>> 11) * 0x1.0p-53;
    }
}
