package io.furlong.torch;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The weights of one LoRA adapter: for each adapted projection {@code y += scaling * B (A x)} (arXiv:2106.09685).
 *
 * <p>Either trainable ({@link #init}, {@link #trainableCopy}), then only its trainer's thread touches it, or frozen ({@link #frozenCopy}, {@link PeftDirectory#read}),
 * then its bytes never change and threads may share it until it is closed. Two objects never share a tensor.
 *
 * <p>All matrices are views of one flat tensor ({@link #flat}), so that copying, stepping and clearing an adapter is one operation, however many layers it has.
 */
public final class LoraWeights implements AutoCloseable {
    private final ModelConfig config;
    private final Owner owner = new Owner();
    private final List<Map<Projection, Shape>> shapes;
    private final Tensor flat;
    private final List<Map<Projection, Pair>> layers;
    private final int maxRank;
    private final boolean trainable;
    private Optional<Tensor> gradient = Optional.empty();

    /** What one projection's A {@code [rank, in]} and B {@code [out, rank]} look like. */
    private record Shape(int rank, int in, int out, double scaling) {
        long entries() {
            return (long) rank * (in + out);
        }
    }

    /**
     * A and B of one projection.
     *
     * @param a           {@code [rank, in]}
     * @param b           {@code [out, rank]}
     * @param transposedB the memory of {@code b} as {@code [rank, out]}, for products that do not record for autograd
     * @param scaling     factor on the update
     * @param scalingArg  the same as libtorch takes it
     */
    public record Pair(Tensor a, Tensor b, Tensor transposedB, double scaling, Scalar scalingArg) {
        /** Inner width. */
        public int rank() {
            return (int) a.size(0);
        }
    }

    /** A and B as they come from elsewhere. */
    record Values(Tensor a, Tensor b, double scaling) {
        Shape shape() {
            return new Shape((int) a.size(0), (int) a.size(1), (int) b.size(0), scaling);
        }
    }

    /** A frozen adapter with these values, which are copied. */
    static LoraWeights frozen(ModelConfig config, List<Map<Projection, Values>> layers) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                List<Map<Projection, Shape>> shapes = new ArrayList<>();
                TensorVector parts = new TensorVector();
                for (Map<Projection, Values> layer : layers) {
                    Map<Projection, Shape> own = new EnumMap<>(Projection.class);
                    // By projection, as the views are laid out.
                    new EnumMap<>(layer).forEach((projection, v) -> {
                        own.put(projection, v.shape());
                        parts.push_back(v.a().flatten());
                        parts.push_back(v.b().flatten());
                    });
                    shapes.add(own);
                }
                return new LoraWeights(config, shapes, torch.cat(parts, 0), false);
            }
        });
    }

    /** Takes {@code flat} into ownership: A and B of each projection, by layer, then projection. */
    private LoraWeights(ModelConfig config, List<Map<Projection, Shape>> shapes, Tensor flat, boolean trainable) {
        this.config = config;
        this.shapes = shapes;
        this.flat = owner.own(flat);
        this.trainable = trainable;
        List<Map<Projection, Pair>> owned = new ArrayList<>();
        int rank = 0;
        long at = 0;
        for (Map<Projection, Shape> layer : shapes) {
            Map<Projection, Pair> pairs = new EnumMap<>(Projection.class);
            for (Map.Entry<Projection, Shape> entry : layer.entrySet()) {
                Shape s = entry.getValue();
                Tensor a = part(flat, at, s.rank(), s.in());
                Tensor b = part(flat, at + (long) s.rank() * s.in(), s.out(), s.rank());
                pairs.put(entry.getKey(), new Pair(owner.own(a), owner.own(b), owner.own(b.detach().t()), s.scaling(), owner.own(new Scalar(s.scaling()))));
                a.set_requires_grad(trainable);
                b.set_requires_grad(trainable);
                at += s.entries();
                rank = Math.max(rank, s.rank());
            }
            owned.add(Collections.unmodifiableMap(pairs));
        }
        this.layers = List.copyOf(owned);
        this.maxRank = rank;
    }

    private static Tensor part(Tensor flat, long at, long rows, long columns) {
        return flat.narrow(0, at, rows * columns).view(rows, columns).detach();
    }

    /**
     * A new trainable adapter that changes nothing yet: A uniform in {@code ±1/sqrt(in)} (Kaiming with a = sqrt 5, as PEFT), B zero.
     * The same seed gives the same weights.
     */
    public static LoraWeights init(ModelConfig config, LoraSpec spec, long seed) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                List<Map<Projection, Shape>> shapes = new ArrayList<>();
                for (int layer = 0; layer < config.layers(); layer++) {
                    Map<Projection, Shape> own = new EnumMap<>(Projection.class);
                    spec.targets().forEach(p -> own.put(p, new Shape(spec.rank(), p.in(config), p.out(config), spec.factor())));
                    shapes.add(own);
                }
                long entries = shapes.stream().flatMap(own -> own.values().stream()).mapToLong(Shape::entries).sum();
                LoraWeights fresh = new LoraWeights(config, shapes, torch.zeros(entries), true);
                GeneratorOptional from = new GeneratorOptional(torch.createCPUGenerator(seed));
                for (Map<Projection, Pair> layer : fresh.layers) {
                    for (Pair pair : layer.values()) {
                        double bound = 1 / Math.sqrt(pair.a().size(1));
                        pair.a().uniform_(-bound, bound, from);
                    }
                }
                return fresh;
            }
        });
    }

    /** An immutable deep copy, e.g. to publish while training goes on. */
    public LoraWeights frozenCopy() {
        return copy(false);
    }

    /** A deep copy to train on from here. */
    public LoraWeights trainableCopy() {
        return copy(true);
    }

    private LoraWeights copy(boolean trainableCopy) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                return new LoraWeights(config, shapes, flat.clone(), trainableCopy);
            }
        });
    }

    /** All entries, float32 {@code [n]}: A and B by layer, then projection, each row by row. */
    public Tensor flat() {
        return flat;
    }

    /**
     * Where autograd adds the gradient of trainable weights, float32 {@code [n]} in the order of {@link #flat}: every parameter's {@code grad} is a view of it.
     * From the first call on, which makes it zero.
     */
    public Tensor gradient() {
        if (!trainable) {
            throw new IllegalStateException("frozen weights have no gradient");
        }
        if (gradient.isEmpty()) {
            try (Scope scope = new Scope()) {
                Tensor sum = owner.own(torch.zeros_like(flat));
                long at = 0;
                for (Tensor p : parameters().values()) {
                    p.mutable_grad().put(part(sum, at, p.size(0), p.size(1)));
                    at += p.numel();
                }
                gradient = Optional.of(sum);
            }
        }
        return gradient.get();
    }

    /** A and B of one projection, if it is adapted. */
    public Optional<Pair> pair(int layer, Projection projection) {
        return Optional.ofNullable(layers.get(layer).get(projection));
    }

    /** A and B tensors by PEFT's names ({@code base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight}), by layer, then projection, A before B. */
    public SequencedMap<String, Tensor> parameters() {
        SequencedMap<String, Tensor> named = new LinkedHashMap<>();
        for (int layer = 0; layer < layers.size(); layer++) {
            for (Map.Entry<Projection, Pair> entry : layers.get(layer).entrySet()) {
                String path = "base_model.model." + entry.getKey().path(layer);
                named.put(path + ".lora_A.weight", entry.getValue().a());
                named.put(path + ".lora_B.weight", entry.getValue().b());
            }
        }
        return named;
    }

    /** The largest inner width of any projection. */
    public int maxRank() {
        return maxRank;
    }

    /** Projections adapted in at least one layer. */
    public Set<Projection> targets() {
        EnumSet<Projection> targets = EnumSet.noneOf(Projection.class);
        layers.forEach(layer -> targets.addAll(layer.keySet()));
        return Collections.unmodifiableSet(targets);
    }

    /** Whether {@link #parameters} require gradients. */
    public boolean isTrainable() {
        return trainable;
    }

    /** The shape of the model this adapter is for. */
    public ModelConfig config() {
        return config;
    }

    /** SHA-256, 64 hex digits, over names, shapes, scaling and float32 bytes of all tensors in {@link #parameters} order. */
    public String digest() {
        MessageDigest sha = sha256();
        for (int layer = 0; layer < layers.size(); layer++) {
            for (Map.Entry<Projection, Pair> entry : layers.get(layer).entrySet()) {
                Pair pair = entry.getValue();
                sha.update((entry.getKey().path(layer) + "\n").getBytes(StandardCharsets.UTF_8));
                sha.update(ByteBuffer.allocate(20).putInt(pair.rank()).putInt((int) pair.a().size(1)).putInt((int) pair.b().size(0)).putDouble(pair.scaling()).flip());
                sha.update(Tensors.memory(pair.a()).asByteBuffer());
                sha.update(Tensors.memory(pair.b()).asByteBuffer());
            }
        }
        return HexFormat.of().formatHex(sha.digest());
    }

    /** Frees the tensors; no thread may use them any more. */
    @Override
    public void close() {
        owner.close();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
