package io.furlong.torch;

import io.furlong.torch.FusedLinear.Part;
import io.furlong.torch.ModelConfig.Embeddings;
import io.furlong.torch.ModelConfig.HeadNorm;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The weights of a decoder, float32. Frozen and shared by engine and trainer; only {@link #trainableCopy} gives weights that may change.
 *
 * <p>Query, key and value are stored as one matrix, and gate and up as another: one product instead of several.
 */
public final class BaseModel implements AutoCloseable {
    private final ModelConfig config;
    private final Owner owner = new Owner();
    private final Tensor embedding;
    private final Tensor lmHead;
    private final TensorOptional finalNorm;
    private final List<Block> blocks;
    private final SequencedMap<String, Tensor> parameters = new LinkedHashMap<>();

    /** One decoder block; norm weights have shape {@code [hidden]}. */
    record Block(TensorOptional inputNorm, FusedLinear qkv, Optional<HeadNorms> headNorms, FusedLinear output,
                 TensorOptional mlpNorm, FusedLinear gateUp, FusedLinear down) {}

    /** Norm weights of queries and of keys, each {@code [headDim]}. */
    record HeadNorms(TensorOptional query, TensorOptional key) {}

    /** Where the tensors of a checkpoint come from: a name and the shape that it must have. */
    private interface Source {
        Tensor get(String name, long... shape);
    }

    private BaseModel(ModelConfig config, Source source) {
        this.config = config;
        try (Scope scope = new Scope()) {
            embedding = parameter("model.embed_tokens.weight", source, config.vocabSize(), config.hiddenSize());
            List<Block> made = new ArrayList<>();
            for (int layer = 0; layer < config.layers(); layer++) {
                made.add(block(layer, source));
            }
            blocks = List.copyOf(made);
            finalNorm = norm("model.norm.weight", source, config.hiddenSize());
            lmHead = config.embeddings() == Embeddings.TIED ? embedding : parameter("lm_head.weight", source, config.vocabSize(), config.hiddenSize());
        } catch (RuntimeException e) {
            owner.close();
            throw e;
        }
    }

    /**
     * Loads a Hugging Face model directory.
     *
     * @throws CheckpointException in one line, if architecture, files or tensors are not as they must be
     */
    public static BaseModel load(Path directory) {
        ModelConfig config = ModelConfig.read(directory);
        try (Safetensors file = Safetensors.openModel(directory)) {
            refuseExtraTensors(config, file);
            return Torch.noGrad(() -> new BaseModel(config, file::floats));
        }
    }

    /** A model with random weights: matrices normal with standard deviation {@code 0.02}, norms 1, biases 0. The same seed gives the same weights. */
    public static BaseModel random(ModelConfig config, long seed) {
        return Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                Generator generator = torch.createCPUGenerator(seed);
                GeneratorOptional from = new GeneratorOptional(generator);
                return new BaseModel(config, (name, shape) -> {
                    if (name.endsWith("norm.weight")) {
                        return torch.ones(shape);
                    }
                    return name.endsWith(".bias") ? torch.zeros(shape) : torch.zeros(shape).normal_(0, 0.02, from);
                });
            }
        });
    }

    /** A copy whose {@link #parameters} require gradients, for training the base itself; shares nothing with this model. */
    public BaseModel trainableCopy() {
        return copy(true);
    }

    /** A frozen copy; shares nothing with this model. */
    public BaseModel frozenCopy() {
        return copy(false);
    }

    private BaseModel copy(boolean trainable) {
        try (Scope scope = new Scope()) {
            SequencedMap<String, Tensor> tensors = checkpoint();
            BaseModel copy = Torch.noGrad(() -> new BaseModel(config, (name, shape) -> tensors.get(name).clone()));
            copy.parameters.values().forEach(p -> p.set_requires_grad(trainable));
            return copy;
        }
    }

    /** The stored tensors, fused as the decoder uses them, in a fixed order: what an optimizer of the whole model steps. */
    public List<Tensor> parameters() {
        return List.copyOf(parameters.values());
    }

    /** The shape of the model. */
    public ModelConfig config() {
        return config;
    }

    /** Writes {@code config.json}, {@code generation_config.json} and {@code model.safetensors} into {@code directory}, which must exist and hold no weights. */
    public void save(Path directory) {
        config.write(directory);
        try (Scope scope = new Scope()) {
            Safetensors.write(directory.resolve("model.safetensors"), checkpoint(), Map.of("format", "pt"));
        }
    }

    /** Frees the weights; no thread may use them any more. */
    @Override
    public void close() {
        owner.close();
    }

    Tensor embedding() {
        return embedding;
    }

    Tensor lmHead() {
        return lmHead;
    }

    TensorOptional finalNorm() {
        return finalNorm;
    }

    List<Block> blocks() {
        return blocks;
    }

    private Block block(int layer, Source source) {
        String prefix = "model.layers." + layer + ".";
        ModelConfig.Biases biases = config.biases();
        Optional<HeadNorms> headNorms = config.headNorm() == HeadNorm.NONE ? Optional.empty() : Optional.of(new HeadNorms(
                norm(prefix + "self_attn.q_norm.weight", source, config.headDim()), norm(prefix + "self_attn.k_norm.weight", source, config.headDim())));
        return new Block(norm(prefix + "input_layernorm.weight", source, config.hiddenSize()),
                linear(layer, source, biases.qkv(), Projection.Q, Projection.K, Projection.V), headNorms,
                linear(layer, source, biases.output(), Projection.O),
                norm(prefix + "post_attention_layernorm.weight", source, config.hiddenSize()),
                linear(layer, source, biases.mlp(), Projection.GATE, Projection.UP),
                linear(layer, source, biases.mlp(), Projection.DOWN));
    }

    private FusedLinear linear(int layer, Source source, boolean biased, Projection... projections) {
        List<Part> parts = new ArrayList<>();
        int offset = 0;
        for (Projection p : projections) {
            parts.add(new Part(p, offset, p.out(config)));
            offset += p.out(config);
        }
        String name = projections[0].path(layer) + (projections.length > 1 ? "+" : "");
        long[] sizes = parts.stream().mapToLong(Part::size).toArray();
        // A scope of its own: what a source makes is freed before the next linear is read.
        try (Scope scope = new Scope()) {
            Tensor weight = fused(name + ".weight", parts.stream().map(part -> source.get(part.projection().path(layer) + ".weight",
                    part.size(), part.projection().in(config))).toList());
            Tensor transposed = owner.own(weight.t());
            if (!biased) {
                return new FusedLinear(layer, parts, sizes, weight, transposed, Optional.empty(), owner.own(new TensorOptional()));
            }
            Tensor bias = fused(name + ".bias", parts.stream().map(part -> source.get(part.projection().path(layer) + ".bias", part.size())).toList());
            return new FusedLinear(layer, parts, sizes, weight, transposed, Optional.of(bias), owner.own(new TensorOptional(bias)));
        }
    }

    private Tensor fused(String name, List<Tensor> tensors) {
        Tensor whole = owner.own(tensors.size() == 1 ? tensors.getFirst() : torch.cat(new TensorVector(tensors.toArray(Tensor[]::new)), 0));
        parameters.put(name, whole);
        return whole;
    }

    private Tensor parameter(String name, Source source, long... shape) {
        Tensor tensor = owner.own(source.get(name, shape));
        parameters.put(name, tensor);
        return tensor;
    }

    private TensorOptional norm(String name, Source source, long size) {
        return owner.own(new TensorOptional(parameter(name, source, size)));
    }

    /** Views under the names of a Hugging Face checkpoint, in the current scope. */
    private SequencedMap<String, Tensor> checkpoint() {
        SequencedMap<String, Tensor> named = new LinkedHashMap<>();
        List<FusedLinear> linears = blocks.stream().flatMap(b -> List.of(b.qkv(), b.output(), b.gateUp(), b.down()).stream()).toList();
        parameters.forEach((name, tensor) -> {
            if (!name.contains("_proj")) {
                named.put(name, tensor.detach());
            }
        });
        for (FusedLinear linear : linears) {
            for (Part part : linear.parts()) {
                String path = part.projection().path(linear.layer());
                named.put(path + ".weight", linear.weight().detach().narrow(0, part.offset(), part.size()));
                linear.bias().ifPresent(bias -> named.put(path + ".bias", bias.detach().narrow(0, part.offset(), part.size())));
            }
        }
        return named;
    }

    private static void refuseExtraTensors(ModelConfig config, Safetensors file) {
        List<String> extra = file.names().stream().filter(name -> !isExpected(config, name)).toList();
        if (!extra.isEmpty()) {
            throw new CheckpointException(file.source() + ": tensor " + extra.getFirst() + (extra.size() > 1 ? " and " + (extra.size() - 1) + " more are" : " is")
                    + " not part of a " + config.family().modelType() + " model with " + config.layers() + " layers");
        }
    }

    private static boolean isExpected(ModelConfig config, String name) {
        // Copies that transformers ignores too: a tied head written out, and the rotary table of old Llama checkpoints.
        if (name.equals("model.embed_tokens.weight") || name.equals("model.norm.weight") || name.equals("lm_head.weight")) {
            return true;
        }
        return IntStream.range(0, config.layers()).anyMatch(layer -> {
            String prefix = "model.layers." + layer + ".";
            return name.startsWith(prefix) && isPartOfBlock(config, name.substring(prefix.length()));
        });
    }

    private static boolean isPartOfBlock(ModelConfig config, String name) {
        return switch (name) {
            case "input_layernorm.weight", "post_attention_layernorm.weight", "self_attn.rotary_emb.inv_freq" -> true;
            case "self_attn.q_norm.weight", "self_attn.k_norm.weight" -> config.headNorm() == HeadNorm.RMS;
            case "self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias" -> config.biases().qkv();
            case "self_attn.o_proj.bias" -> config.biases().output();
            case "mlp.gate_proj.bias", "mlp.up_proj.bias", "mlp.down_proj.bias" -> config.biases().mlp();
            default -> name.endsWith("_proj.weight") && isProjection(name.substring(0, name.length() - ".weight".length()));
        };
    }

    private static boolean isProjection(String path) {
        for (Projection p : Projection.values()) {
            if (p.path(0).equals("model.layers.0." + path)) {
                return true;
            }
        }
        return false;
    }
}
