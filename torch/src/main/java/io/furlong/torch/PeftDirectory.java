package io.furlong.torch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.torch.LoraWeights.Pair;
import io.furlong.torch.LoraWeights.Values;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * A LoRA adapter as PEFT lays it out: {@code adapter_config.json} and {@code adapter_model.safetensors}.
 *
 * <p>Reading accepts what PEFT 0.21 writes for LoRA on linear layers, and refuses what would be silently ignored. Writing keeps to what PEFT and SGLang both
 * load rightly: SGLang scales by {@code lora_alpha / r} whatever else the config says, wants one rank for all modules, and stacks query with value and gate with up. So
 * rank-stabilised scaling is folded into alpha, differing ranks are padded with zeros, differing scalings go into B, and a missing partner is written as zeros.
 */
public final class PeftDirectory {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final String CONFIG = "adapter_config.json";
    private static final String WEIGHTS = "adapter_model.safetensors";
    private static final String PREFIX = "base_model.model.";

    private PeftDirectory() {}

    /**
     * Reads a frozen adapter for a model of shape {@code config}.
     *
     * @throws CheckpointException in one line, if it is not a LoRA adapter of this model or uses what is not supported
     */
    public static LoraWeights read(Path directory, ModelConfig config) {
        Path configFile = directory.resolve(CONFIG);
        JsonNode peft = parse(configFile);
        refuseWhatIsNotApplied(configFile, peft);
        LoraSpec.Scaling scaling = peft.path("use_rslora").asBoolean(false) ? LoraSpec.Scaling.RANK_STABILISED : LoraSpec.Scaling.STANDARD;
        if (!peft.path("r").isIntegralNumber() || !peft.path("lora_alpha").isNumber()) {
            throw new CheckpointException(configFile + ": r and lora_alpha must be numbers");
        }
        try (Scope scope = new Scope(); Safetensors file = Safetensors.open(directory.resolve(WEIGHTS))) {
            Set<String> unread = new LinkedHashSet<>(file.names());
            List<Map<Projection, Values>> layers = new ArrayList<>();
            for (int layer = 0; layer < config.layers(); layer++) {
                Map<Projection, Values> values = new EnumMap<>(Projection.class);
                for (Projection p : Projection.values()) {
                    String path = p.path(layer);
                    String a = PREFIX + path + ".lora_A.weight";
                    String b = PREFIX + path + ".lora_B.weight";
                    boolean there = unread.remove(a) | unread.remove(b);
                    if (there) {
                        int rank = pattern(peft, "rank_pattern", path).map(JsonNode::asInt).orElse(peft.get("r").asInt());
                        double alpha = pattern(peft, "alpha_pattern", path).map(JsonNode::asDouble).orElse(peft.get("lora_alpha").asDouble());
                        values.put(p, new Values(file.floats(a, rank, p.in(config)), file.floats(b, p.out(config), rank), scaling.factor(alpha, rank)));
                    }
                }
                layers.add(values);
            }
            refuseUnread(file, unread, layers, config);
            refuseUnmatchedTargets(configFile, peft, layers, config);
            layers.forEach(values -> values.values().removeIf(PeftDirectory::isFiller));
            return LoraWeights.frozen(config, layers);
        }
    }

    private static void refuseWhatIsNotApplied(Path file, JsonNode peft) {
        if (!peft.path("peft_type").asText("").equalsIgnoreCase("lora")) {
            throw new CheckpointException(file + ": peft_type is " + peft.path("peft_type") + ", must be LORA");
        }
        for (String key : List.of("use_dora", "fan_in_fan_out", "lora_bias", "use_qalora", "use_bdlora", "alora_invocation_tokens", "arrow_config",
                "layer_replication", "target_parameters", "trainable_token_indices", "modules_to_save")) {
            JsonNode value = peft.path(key);
            if (value.asBoolean(false) || value.isContainerNode() && !value.isEmpty()) {
                throw new CheckpointException(file + ": " + key + " = " + value + " is not supported; only plain LoRA on linear layers is");
            }
        }
        JsonNode init = peft.path("init_lora_weights");
        if (init.isTextual() && !List.of("default", "gaussian", "eva", "orthogonal").contains(init.asText())) {
            throw new CheckpointException(file + ": init_lora_weights = " + init + " changes the base weights and is not supported; convert the adapter to plain LoRA first");
        }
        if (!peft.path("bias").asText("none").equals("none")) {
            throw new CheckpointException(file + ": bias = " + peft.get("bias") + " is not supported, must be \"none\"");
        }
    }

    private static void refuseUnread(Safetensors file, Set<String> unread, List<Map<Projection, Values>> layers, ModelConfig config) {
        String model = "a " + config.family().modelType() + " model with " + config.layers() + " layers";
        if (layers.stream().allMatch(Map::isEmpty)) {
            throw new CheckpointException(file.source() + ": none of its " + file.names().size() + " tensors matches a linear layer of " + model
                    + (unread.isEmpty() ? "" : "; the first is " + unread.iterator().next()));
        }
        if (!unread.isEmpty()) {
            throw new CheckpointException(file.source() + ": " + unread.size() + " tensors match no linear layer of " + model + ": " + String.join(", ", unread));
        }
    }

    /** Each name in {@code target_modules} must have tensors, or the file lacks some. */
    private static void refuseUnmatchedTargets(Path file, JsonNode peft, List<Map<Projection, Values>> layers, ModelConfig config) {
        JsonNode targets = peft.path("target_modules");
        if (!targets.isArray()) {
            return;
        }
        List<String> modules = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            for (Projection p : layers.get(layer).keySet()) {
                modules.add(p.path(layer));
            }
        }
        List<String> missing = new ArrayList<>();
        for (JsonNode target : targets) {
            if (modules.stream().noneMatch(module -> names(target.asText(), module)) && !isExcluded(file, peft, target.asText())) {
                missing.add(target.asText());
            }
        }
        if (!missing.isEmpty()) {
            throw new CheckpointException(file + ": target_modules names " + String.join(", ", missing) + ", but " + WEIGHTS + " has no such tensors for this model");
        }
    }

    /** {@code exclude_modules}: names or path ends, or one regular expression on the whole path, as in PEFT. */
    private static boolean isExcluded(Path file, JsonNode peft, String module) {
        JsonNode excluded = peft.path("exclude_modules");
        if (excluded.isTextual()) {
            try {
                return Pattern.compile(excluded.asText()).matcher(module).matches();
            } catch (PatternSyntaxException e) {
                throw new CheckpointException(file + ": exclude_modules \"" + excluded.asText() + "\" is not a regular expression", e);
            }
        }
        for (JsonNode one : excluded) {
            if (names(one.asText(), module)) {
                return true;
            }
        }
        return false;
    }

    private static boolean names(String target, String module) {
        return module.equals(target) || module.endsWith("." + target);
    }

    /** The entry of {@code rank_pattern} or {@code alpha_pattern} for a module: keys are names, path ends, or regular expressions on the path's end, as in PEFT. */
    private static Optional<JsonNode> pattern(JsonNode peft, String key, String module) {
        for (Map.Entry<String, JsonNode> entry : peft.path(key).properties()) {
            try {
                if (Pattern.compile("(.*\\.)?(" + entry.getKey() + ")").matcher(module).matches()) {
                    return Optional.of(entry.getValue());
                }
            } catch (PatternSyntaxException e) {
                throw new CheckpointException(CONFIG + ": " + key + " key \"" + entry.getKey() + "\" is not a regular expression", e);
            }
        }
        return Optional.empty();
    }

    /** Zeros written by {@link #write} for a partner that is not adapted. */
    private static boolean isFiller(Values values) {
        return values.a().count_nonzero().item_long() == 0 && values.b().count_nonzero().item_long() == 0;
    }

    /**
     * Writes {@code lora} into {@code directory}, which must exist and hold no adapter, and forces the files to disk. Not atomic: write to a new directory and rename it.
     *
     * @param baseModel {@code base_model_name_or_path} of the config
     */
    public static void write(LoraWeights lora, Path directory, String baseModel) {
        Torch.noGrad(() -> {
            try (Scope scope = new Scope()) {
                ModelConfig config = lora.config();
                int rank = lora.maxRank();
                double scaling = commonScaling(lora);
                Set<Projection> targets = withPartners(lora.targets());
                SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
                for (int layer = 0; layer < config.layers(); layer++) {
                    for (Projection p : targets) {
                        Optional<Pair> pair = lora.pair(layer, p);
                        Tensor a = pair.map(w -> padded(w.a(), 0, rank)).orElseGet(() -> torch.zeros(rank, p.in(config)));
                        Tensor b = pair.map(w -> padded(scaled(w, scaling), 1, rank)).orElseGet(() -> torch.zeros(p.out(config), rank));
                        tensors.put(PREFIX + p.path(layer) + ".lora_A.weight", a);
                        tensors.put(PREFIX + p.path(layer) + ".lora_B.weight", b);
                    }
                }
                Safetensors.write(directory.resolve(WEIGHTS), tensors, Map.of("format", "pt"));
                writeForced(directory.resolve(CONFIG), peftConfig(rank, scaling * rank, targets, baseModel));
            }
        });
    }

    private static double commonScaling(LoraWeights lora) {
        for (int layer = 0; layer < lora.config().layers(); layer++) {
            for (Projection p : Projection.values()) {
                Optional<Pair> pair = lora.pair(layer, p);
                if (pair.isPresent()) {
                    return pair.get().scaling();
                }
            }
        }
        throw new IllegalArgumentException("the adapter has no tensors");
    }

    private static Tensor padded(Tensor t, int dimension, int rank) {
        long missing = rank - t.size(dimension);
        if (missing == 0) {
            return t.detach();
        }
        long[] shape = t.shape();
        shape[dimension] = missing;
        return torch.cat(new TensorVector(t.detach(), torch.zeros(shape)), dimension);
    }

    private static Tensor scaled(Pair pair, double common) {
        return pair.scaling() == common ? pair.b() : pair.b().mul(new Scalar(pair.scaling() / common));
    }

    private static Set<Projection> withPartners(Set<Projection> targets) {
        EnumSet<Projection> all = EnumSet.copyOf(targets);
        if (all.contains(Projection.Q) || all.contains(Projection.K) || all.contains(Projection.V)) {
            all.addAll(Arrays.asList(Projection.Q, Projection.K, Projection.V));
        }
        if (all.contains(Projection.GATE) || all.contains(Projection.UP)) {
            all.addAll(Arrays.asList(Projection.GATE, Projection.UP));
        }
        return all;
    }

    private static ObjectNode peftConfig(int rank, double alpha, Set<Projection> targets, String baseModel) {
        ObjectNode root = JSON.createObjectNode();
        root.put("peft_type", "LORA").put("task_type", "CAUSAL_LM").put("base_model_name_or_path", baseModel).put("inference_mode", true);
        root.put("r", rank);
        if (alpha == Math.rint(alpha)) {
            root.put("lora_alpha", (long) alpha);
        } else {
            root.put("lora_alpha", alpha);
        }
        root.put("use_rslora", false).put("use_dora", false).put("lora_dropout", 0.0).put("bias", "none").put("fan_in_fan_out", false);
        root.put("init_lora_weights", true).putNull("modules_to_save");
        root.putObject("rank_pattern");
        root.putObject("alpha_pattern");
        ArrayNode names = root.putArray("target_modules");
        targets.forEach(p -> names.add(p.moduleName()));
        return root;
    }

    private static void writeForced(Path file, ObjectNode json) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = ByteBuffer.wrap(JSON.writeValueAsBytes(json));
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        } catch (IOException e) {
            throw new UncheckedIOException(file + ": cannot be written: " + e.getMessage(), e);
        }
    }

    private static JsonNode parse(Path file) {
        try {
            return JSON.readTree(file.toFile());
        } catch (IOException e) {
            throw new CheckpointException(file + ": " + (Files.exists(file) ? "not valid JSON" : "no such file"), e);
        }
    }
}
