package io.furlong.torch;

import java.util.Arrays;
import java.util.Optional;

/** A linear layer of a decoder block that an adapter may change. */
public enum Projection {
    Q("self_attn", "q_proj"),
    K("self_attn", "k_proj"),
    V("self_attn", "v_proj"),
    O("self_attn", "o_proj"),
    GATE("mlp", "gate_proj"),
    UP("mlp", "up_proj"),
    DOWN("mlp", "down_proj");

    private final String block;
    private final String moduleName;

    Projection(String block, String moduleName) {
        this.block = block;
        this.moduleName = moduleName;
    }

    /** Module name as Hugging Face and PEFT's {@code target_modules} spell it, e.g. {@code q_proj}. */
    public String moduleName() {
        return moduleName;
    }

    /** Full module path in a checkpoint, e.g. {@code model.layers.3.self_attn.q_proj}. */
    public String path(int layer) {
        return "model.layers." + layer + "." + block + "." + moduleName;
    }

    /** The projection called {@code moduleName}, if there is one. */
    public static Optional<Projection> named(String moduleName) {
        return Arrays.stream(values()).filter(p -> p.moduleName.equals(moduleName)).findFirst();
    }

    /** Input width in {@code config}. */
    public int in(ModelConfig config) {
        return switch (this) {
            case Q, K, V, GATE, UP -> config.hiddenSize();
            case O -> config.heads() * config.headDim();
            case DOWN -> config.intermediateSize();
        };
    }

    /** Output width in {@code config}. */
    public int out(ModelConfig config) {
        return switch (this) {
            case Q -> config.heads() * config.headDim();
            case K, V -> config.kvHeads() * config.headDim();
            case O, DOWN -> config.hiddenSize();
            case GATE, UP -> config.intermediateSize();
        };
    }
}
