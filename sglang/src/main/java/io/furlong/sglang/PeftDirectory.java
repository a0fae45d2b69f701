package io.furlong.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.WireJson;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What SGLang would choke on in an adapter directory, found before any engine is asked to load it. SGLang checks little at load time
 * and asserts on shapes in its scheduler at the first request, which ends the process; it also ignores {@code use_rslora} and the
 * pattern fields, and so would serve such an adapter with the wrong scale without a word. Reads the configuration and the header of the
 * weights file, never a tensor.
 */
final class PeftDirectory {
    private static final Pattern TENSOR = Pattern.compile(".*\\blayers\\.(\\d+)\\.(?:.*\\.)?([a-z_]+)\\.lora_([AB])\\.weight");
    private static final int LONGEST_HEADER = 64 << 20;

    private final Path directory;
    private final int rank;
    private final ModelShape model;
    private final List<String> problems = new ArrayList<>();

    private PeftDirectory(Path directory, int rank, ModelShape model) {
        this.directory = directory;
        this.rank = rank;
        this.model = model;
    }

    /**
     * One line a problem, naming file, tensor and what would be right; empty when there is none.
     *
     * @param rank what the adapter is registered with
     */
    static List<String> problems(Path directory, int rank, ModelShape model) {
        PeftDirectory check = new PeftDirectory(directory, rank, model);
        try {
            check.config();
            check.weights();
        } catch (IOException e) {
            check.problems.add(directory + ": " + e.getMessage());
        }
        return check.problems;
    }

    private void config() throws IOException {
        JsonNode config = WireJson.mapper().readTree(Files.readAllBytes(directory.resolve("adapter_config.json")));
        String file = directory + "/adapter_config.json: ";
        if (!"lora".equalsIgnoreCase(config.path("peft_type").asText())) {
            problems.add(file + "peft_type is " + config.path("peft_type") + ", must be LORA");
        }
        if (config.path("r").asInt() != rank) {
            problems.add(file + "r is " + config.path("r") + ", the adapter is registered with rank " + rank);
        }
        if (!config.path("lora_alpha").isNumber() || !Double.isFinite(config.path("lora_alpha").doubleValue())) {
            problems.add(file + "lora_alpha is " + config.path("lora_alpha") + ", a finite number is needed");
        }
        if (!config.path("target_modules").isArray() && !"all-linear".equals(config.path("target_modules").asText())) {
            problems.add(file + "target_modules is " + config.path("target_modules") + ", a list of names is needed");
        }
        for (String flag : List.of("use_dora", "use_rslora")) {
            if (config.path(flag).asBoolean()) {
                problems.add(file + flag + " is true, SGLang does not apply it");
            }
        }
        for (String patterns : List.of("rank_pattern", "alpha_pattern")) {
            if (!config.path(patterns).isEmpty()) {
                problems.add(file + patterns + " is not empty, SGLang ignores it");
            }
        }
    }

    private void weights() throws IOException {
        Path file = directory.resolve("adapter_model.safetensors");
        JsonNode header = header(file);
        Set<String> seen = new HashSet<>();
        for (Map.Entry<String, JsonNode> entry : header.properties()) {
            if (!entry.getKey().equals("__metadata__")) {
                tensor(entry.getKey(), entry.getValue().path("shape"), seen);
            }
        }
        if (seen.isEmpty()) {
            problems.add(file + ": holds no LoRA tensor at all");
        }
        for (String half : seen) {
            String other = half.substring(0, half.length() - 1) + (half.endsWith("A") ? "B" : "A");
            if (!seen.contains(other)) {
                problems.add(file + ": lora_" + half.charAt(half.length() - 1) + " of " + half.substring(0, half.length() - 2) + " has no counterpart");
            }
        }
        together(file, seen, List.of("q_proj", "k_proj", "v_proj"), Set.of("k_proj"));
        together(file, seen, List.of("gate_proj", "up_proj"), Set.of("up_proj"));
    }

    private void tensor(String name, JsonNode shape, Set<String> seen) {
        Matcher m = TENSOR.matcher(name);
        ModelShape.Linear linear = m.matches() ? model.linear(m.group(2)).orElse(null) : null;
        if (linear == null || Integer.parseInt(m.group(1)) >= model.layers()) {
            problems.add(directory + ": tensor " + name + " belongs to no linear layer of the base model");
            return;
        }
        boolean a = m.group(3).equals("A");
        int rows = a ? rank : linear.out();
        int columns = a ? linear.in() : rank;
        if (shape.size() != 2 || shape.path(0).asInt() != rows || shape.path(1).asInt() != columns) {
            problems.add(directory + ": tensor " + name + " has shape " + shape + ", must be [" + rows + "," + columns + "]");
        }
        seen.add(m.group(1) + "." + m.group(2) + "." + m.group(3));
    }

    /** SGLang fuses these within a layer. It takes zeros for a missing k or up, and fails on any other that is missing. */
    private void together(Path file, Set<String> seen, List<String> fused, Set<String> optional) {
        for (int layer = 0; layer < model.layers(); layer++) {
            String prefix = layer + ".";
            List<String> missing = fused.stream().filter(n -> !seen.contains(prefix + n + ".A")).toList();
            if (missing.size() < fused.size() && !optional.containsAll(missing)) {
                problems.add(file + ": layer " + layer + " has no " + String.join(", ", missing) + "; SGLang fuses "
                        + String.join(", ", fused) + " and needs them together");
            }
        }
    }

    private static JsonNode header(Path file) throws IOException {
        try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
            long length = Long.reverseBytes(in.readLong());
            if (length < 2 || length > Math.min(LONGEST_HEADER, Files.size(file) - 8)) {
                throw new IOException(file.getFileName() + " is no safetensors file, or truncated");
            }
            JsonNode header = WireJson.mapper().readTree(in.readNBytes((int) length));
            long end = 0;
            for (JsonNode tensor : header) {
                end = Math.max(end, tensor.path("data_offsets").path(1).asLong());
            }
            if (Files.size(file) != 8 + length + end) {
                throw new IOException(file.getFileName() + " has " + Files.size(file) + " bytes, its header says " + (8 + length + end));
            }
            return header;
        }
    }
}
