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
import org.bytedeco.pytorch.global.torch;

/**
 * The weights of one LoRA adapter: for each adapted projection {@code y += scaling * B (A x)} (arXiv:2106.09685).
 *
 * <p>Either trainable ({@link #init}, {@link #trainableCopy}), then only its trainer's thread touches it, or frozen ({@link #frozenCopy}, {@link PeftDirectory#read}),
 * then its bytes never change and threads may share it until it is closed. Two objects never share a tensor.
 */
public final class LoraWeights implements AutoCloseable {
    private final ModelConfig config;
    private final Owner owner = new Owner();
    private final List<Map<Projection, Pair>> layers;
    private final int maxRank;
    private final boolean trainable;

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

    /** A and B before they are owned. */
    record Values(Tensor a, Tensor b, double scaling) {}

    /** Takes the tensors of {@code layers} into ownership. */
    LoraWeights(ModelConfig config, List<Map<Projection, Values>> layers, boolean trainable) {
        this.config = config;
        this.trainable = trainable;
        List<Map<Projection, Pair>> owned = new ArrayList<>();
        int rank = 0;
        for (Map<Projection, Values> layer : layers) {
            Map<Projection, Pair> pairs = new EnumMap<>(Projection.class);
            layer.forEach((projection, v) -> {
                v.a().set_requires_grad(trainable);
                v.b().set_requires_grad(trainable);
                pairs.put(projection, new Pair(owner.own(v.a()), owner.own(v.b()), owner.own(v.b().detach().t()), v.scaling(), owner.own(new Scalar(v.scaling()))));
            });
            owned.add(Collections.unmodifiableMap(pairs));
            rank = Math.max(rank, pairs.values().stream().mapToInt(Pair::rank).max().orElse(0));
        }
        this.layers = List.copyOf(owned);
        this.maxRank = rank;
    }

    /**
     * A new trainable adapter that changes nothing yet: A uniform in {@code ±1/sqrt(in)} (Kaiming with a = sqrt 5, as PEFT), B zero.
     * The same seed gives the same weights.
     */
    public static LoraWeights init(ModelConfig config, LoraSpec spec, long seed) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                GeneratorOptional from = new GeneratorOptional(torch.createCPUGenerator(seed));
                List<Map<Projection, Values>> layers = new ArrayList<>();
                for (int layer = 0; layer < config.layers(); layer++) {
                    Map<Projection, Values> values = new EnumMap<>(Projection.class);
                    for (Projection p : spec.targets()) {
                        double bound = 1 / Math.sqrt(p.in(config));
                        values.put(p, new Values(torch.zeros(spec.rank(), p.in(config)).uniform_(-bound, bound, from),
                                torch.zeros(p.out(config), spec.rank()), spec.factor()));
                    }
                    layers.add(values);
                }
                return new LoraWeights(config, layers, true);
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
                List<Map<Projection, Values>> copies = new ArrayList<>();
                for (Map<Projection, Pair> layer : layers) {
                    Map<Projection, Values> values = new EnumMap<>(Projection.class);
                    layer.forEach((p, pair) -> values.put(p, new Values(pair.a().detach().clone(), pair.b().detach().clone(), pair.scaling())));
                    copies.add(values);
                }
                return new LoraWeights(config, copies, trainableCopy);
            }
        });
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
