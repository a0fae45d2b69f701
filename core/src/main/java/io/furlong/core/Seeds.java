package io.furlong.core;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Every random number of a run comes from its seed and names, never from a random id or a clock: 63 bits of SHA-256 over the parts.
 */
public final class Seeds {
    private Seeds() {}

    /** Seed of one response: run seed, adapter, epoch, row, sample, how often the row's group went stale, turn. */
    public static long sample(long runSeed, String adapter, Prompt prompt, int index, int turn) {
        return of("sample", runSeed, adapter, prompt.epoch(), prompt.row(), index, prompt.stale(), turn);
    }

    /** Seed of an adapter's LoRA initialisation. */
    public static long init(long runSeed, String adapter) {
        return of("init", runSeed, adapter);
    }

    /** Seed of the row order of one pass. */
    public static long order(long runSeed, String adapter, int epoch) {
        return of("order", runSeed, adapter, epoch);
    }

    /** A seed from any parts, told apart by their text. */
    public static long of(Object... parts) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            for (Object p : parts) {
                byte[] b = p.toString().getBytes(StandardCharsets.UTF_8);
                sha.update(new byte[] {(byte) (b.length >>> 24), (byte) (b.length >>> 16), (byte) (b.length >>> 8), (byte) b.length});
                sha.update(b);
            }
            return java.nio.ByteBuffer.wrap(sha.digest()).getLong() & Long.MAX_VALUE;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
