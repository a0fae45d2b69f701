package io.furlong.bench;

import io.furlong.torch.BaseModel;
import io.furlong.torch.Chunk;
import io.furlong.torch.Decoder;
import io.furlong.torch.KvCache;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.Numerics;
import io.furlong.torch.Scope;
import io.furlong.torch.Torch;
import io.furlong.torch.TorchThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Greedy decode and prefill of the decoder with its key-value cache: batch 1 to 64 from a filled context of 64 tokens, without adapters and
 * with eight mixed; beside it a loop of the same matrix products and nothing else, which is what this machine could do at best.
 */
final class DecodeBench {
    private static final int CONTEXT = 64;
    private static final int ADAPTERS = 8;

    private final Shape shape;
    private final int steps;
    private final int times;

    DecodeBench(Shape shape, int times) {
        this.shape = shape;
        this.times = times;
        steps = shape == Shape.TINY ? 64 : 8;
    }

    List<Figure> run() throws Exception {
        List<Figure> figures = new ArrayList<>();
        try (TorchThread thread = new TorchThread("bench"); BaseModel model = thread.call(shape::model); Decoder decoder = thread.call(() -> new Decoder(model, Numerics.FAST))) {
            List<LoraWeights> adapters = thread.call(() -> shape.adapters(ADAPTERS));
            boolean tiny = shape == Shape.TINY;
            for (int batch : new int[] {1, 8, 32, 64}) {
                Figure base = decode(thread, decoder, batch, List.of(), "decode " + batch);
                figures.add(batch == 64 ? base.atLeast(tiny ? 5_500 : 210) : base);
                Figure mixed = decode(thread, decoder, batch, adapters, "decode " + batch + ", 8 adapters mixed");
                figures.add(mixed);
                if (batch == 64) {
                    figures.add(Figure.share("decode 64, 8 adapters against none", mixed, base).atLeast(tiny ? 0.9 : 0.75));
                    Figure products = products(thread, batch);
                    figures.add(products);
                    figures.add(Figure.share("decode 64 against its matrix products alone", base, products).atLeast(0.65));
                }
            }
            figures.add(prefill(thread, decoder, List.of(), "prefill 8 x 64"));
            figures.add(prefill(thread, decoder, adapters, "prefill 8 x 64, 8 adapters"));
            thread.run(() -> adapters.forEach(LoraWeights::close));
        }
        return figures;
    }

    private Figure decode(TorchThread thread, Decoder decoder, int batch, List<LoraWeights> adapters, String name) throws Exception {
        List<Optional<LoraWeights>> loras = loras(batch, adapters);
        return Figure.of(shape + " " + name, "tok/s", Repeat.rates(times, () -> thread.call(() -> Torch.noGrad(() -> {
            try (KvCache cache = new KvCache(shape.config()); Scope scope = new Scope()) {
                int[] tokens = argmax(decoder.logits(lastRows(decoder.prefill(cache, chunks(batch, adapters)), batch)), batch);
                int[] positions = new int[batch];
                long start = System.nanoTime();
                for (int step = 0; step < steps; step++) {
                    java.util.Arrays.fill(positions, CONTEXT + step);
                    try (Scope one = new Scope()) {
                        tokens = argmax(decoder.logits(decoder.decode(cache, tokens, positions, loras)), batch);
                    }
                }
                return batch * steps / Repeat.seconds(start);
            }
        }))));
    }

    private Figure prefill(TorchThread thread, Decoder decoder, List<LoraWeights> adapters, String name) throws Exception {
        int batch = 8;
        int rounds = shape == Shape.TINY ? 16 : 2;
        return Figure.of(shape + " " + name, "tok/s", Repeat.rates(times, () -> thread.call(() -> Torch.noGrad(() -> {
            long start = System.nanoTime();
            for (int i = 0; i < rounds; i++) {
                try (KvCache cache = new KvCache(shape.config()); Scope scope = new Scope()) {
                    argmax(decoder.logits(lastRows(decoder.prefill(cache, chunks(batch, adapters)), batch)), batch);
                }
            }
            return (double) rounds * batch * CONTEXT / Repeat.seconds(start);
        }))));
    }

    private Figure products(TorchThread thread, int batch) throws Exception {
        ModelConfig c = shape.config();
        return Figure.of(shape + " matrix products of a step at " + batch, "tok/s", Repeat.rates(times, () -> thread.call(() -> Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                Tensor hidden = torch.randn(batch, c.hiddenSize());
                Tensor attention = torch.randn(batch, (long) c.heads() * c.headDim());
                Tensor inner = torch.randn(batch, c.intermediateSize());
                List<Tensor> qkv = new ArrayList<>();
                List<Tensor> output = new ArrayList<>();
                List<Tensor> gateUp = new ArrayList<>();
                List<Tensor> down = new ArrayList<>();
                for (int layer = 0; layer < c.layers(); layer++) {
                    qkv.add(torch.randn((c.heads() + 2L * c.kvHeads()) * c.headDim(), c.hiddenSize()));
                    output.add(torch.randn(c.hiddenSize(), (long) c.heads() * c.headDim()));
                    gateUp.add(torch.randn(2L * c.intermediateSize(), c.hiddenSize()));
                    down.add(torch.randn(c.hiddenSize(), c.intermediateSize()));
                }
                Tensor head = torch.randn(c.vocabSize(), c.hiddenSize());
                long start = System.nanoTime();
                for (int step = 0; step < steps; step++) {
                    for (int layer = 0; layer < c.layers(); layer++) {
                        torch.linear(hidden, qkv.get(layer)).close();
                        torch.linear(attention, output.get(layer)).close();
                        torch.linear(hidden, gateUp.get(layer)).close();
                        torch.linear(inner, down.get(layer)).close();
                    }
                    torch.linear(hidden, head).close();
                }
                return batch * steps / Repeat.seconds(start);
            }
        }))));
    }

    private List<Chunk> chunks(int batch, List<LoraWeights> adapters) {
        Random random = new Random(1);
        List<Chunk> chunks = new ArrayList<>();
        List<Optional<LoraWeights>> loras = loras(batch, adapters);
        for (int row = 0; row < batch; row++) {
            chunks.add(new Chunk(row, 0, random.ints(CONTEXT, 0, shape.config().vocabSize()).toArray(), loras.get(row)));
        }
        return chunks;
    }

    /** Rows take turns, as arrivals mix them. */
    private static List<Optional<LoraWeights>> loras(int batch, List<LoraWeights> adapters) {
        List<Optional<LoraWeights>> loras = new ArrayList<>();
        for (int row = 0; row < batch; row++) {
            loras.add(adapters.isEmpty() ? Optional.empty() : Optional.of(adapters.get(row % adapters.size())));
        }
        return loras;
    }

    private static Tensor lastRows(Tensor hidden, int batch) {
        return hidden.view(batch, CONTEXT, -1).select(1, CONTEXT - 1).contiguous();
    }

    private static int[] argmax(Tensor logits, int batch) {
        long[] ids = new long[batch];
        new LongPointer(logits.argmax(new org.bytedeco.pytorch.LongOptional(-1), false).data_ptr()).get(ids);
        return java.util.Arrays.stream(ids).mapToInt(id -> (int) id).toArray();
    }
}
