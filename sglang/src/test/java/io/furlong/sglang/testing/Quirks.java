package io.furlong.sglang.testing;

/**
 * How a {@link SglangDouble} differs from others.
 *
 * @param maxLorasPerBatch     the base model counts as one
 * @param contextLength        prompt and response together
 * @param noise                nats by which its log-probs may differ from the trainer's
 * @param ignoresLora          serves the base model whatever adapter is named, as SGLang's Rust server does
 * @param decodeDropsLora      applies adapters in prefill only
 * @param incrementalStreams   chunks hold only what is new
 * @param embedded             announces what Furlong's own engine can, and keeps its counts right
 * @param rawLogProbs          leaves the temperature out of log-probs
 * @param nanosPerToken        of a running generation
 */
public record Quirks(int maxLorasPerBatch, int contextLength, double noise, boolean ignoresLora, boolean decodeDropsLora,
                     boolean incrementalStreams, boolean embedded, boolean rawLogProbs, long nanosPerToken) {
    public static final Quirks RELEASED = new Quirks(8, 4096, 0, false, false, false, false, false, 0);
    public static final Quirks EMBEDDED = new Quirks(8, 4096, 0, false, false, false, true, false, 0);

    public Quirks withNoise(double nats) {
        return new Quirks(maxLorasPerBatch, contextLength, nats, ignoresLora, decodeDropsLora, incrementalStreams, embedded, rawLogProbs, nanosPerToken);
    }

    public Quirks withPlaces(int maxLoras) {
        return new Quirks(maxLoras, contextLength, noise, ignoresLora, decodeDropsLora, incrementalStreams, embedded, rawLogProbs, nanosPerToken);
    }

    public Quirks ignoringLora() {
        return new Quirks(maxLorasPerBatch, contextLength, noise, true, decodeDropsLora, incrementalStreams, embedded, rawLogProbs, nanosPerToken);
    }

    public Quirks droppingLoraInDecode() {
        return new Quirks(maxLorasPerBatch, contextLength, noise, ignoresLora, true, incrementalStreams, embedded, rawLogProbs, nanosPerToken);
    }

    public Quirks streamingIncrements() {
        return new Quirks(maxLorasPerBatch, contextLength, noise, ignoresLora, decodeDropsLora, true, embedded, rawLogProbs, nanosPerToken);
    }

    public Quirks withTokenTime(long nanos) {
        return new Quirks(maxLorasPerBatch, contextLength, noise, ignoresLora, decodeDropsLora, incrementalStreams, embedded, rawLogProbs, nanos);
    }

    public Quirks leavingOutTemperature() {
        return new Quirks(maxLorasPerBatch, contextLength, noise, ignoresLora, decodeDropsLora, incrementalStreams, embedded, true, nanosPerToken);
    }
}
