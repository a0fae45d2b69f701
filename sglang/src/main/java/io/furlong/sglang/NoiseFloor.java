package io.furlong.sglang;

/**
 * How far an engine's log-probs lie from the trainer's when both must be equal: measured on a version without effect.
 *
 * @param prefill mean |Δ| of prompt log-probs against the trainer's, nats
 * @param decode  mean |Δ| between log-probs made by decoding and those of the same tokens by prefill, nats
 */
record NoiseFloor(double prefill, double decode) {
    /** Before anything was measured: what bfloat16 kernels were seen to differ by. */
    static final NoiseFloor UNMEASURED = new NoiseFloor(0.02, 0.02);
    /** Nothing on a computer is quieter than rounding. */
    private static final double ROUNDING = 1e-6;

    NoiseFloor {
        prefill = Math.max(prefill, ROUNDING);
        decode = Math.max(decode, ROUNDING);
    }

    NoiseFloor louder(NoiseFloor other) {
        return new NoiseFloor(Math.max(prefill, other.prefill), Math.max(decode, other.decode));
    }
}
