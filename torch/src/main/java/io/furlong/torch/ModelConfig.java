package io.furlong.torch;

import java.nio.file.Path;
import java.util.List;

/**
 * Shape of a decoder-only transformer, as its {@code config.json} gives it.
 *
 * @param family           which Hugging Face architecture it is
 * @param vocabSize        rows of the embedding
 * @param hiddenSize       width of the residual stream
 * @param intermediateSize width of the gated MLP
 * @param layers           decoder blocks
 * @param heads            query heads
 * @param kvHeads          key and value heads; divides {@code heads}
 * @param headDim          width of one head; {@code heads * headDim} may differ from {@code hiddenSize}
 * @param rmsNormEps       added to the mean square before the root
 * @param biases           which linear layers have a bias
 * @param headNorm         whether queries and keys are normalised per head
 * @param embeddings       whether the LM head is the embedding itself
 * @param contextLength    positions the model was made for
 * @param rope             position embedding
 * @param eosTokenIds      tokens that end a text (generation_config.json, else config.json); may be empty
 */
public record ModelConfig(
        Family family, int vocabSize, int hiddenSize, int intermediateSize, int layers, int heads, int kvHeads, int headDim,
        double rmsNormEps, Biases biases, HeadNorm headNorm, Embeddings embeddings, int contextLength, Rope rope, List<Integer> eosTokenIds) {

    /** Architectures that can be loaded, by {@code model_type}. */
    public enum Family {
        LLAMA("llama", "LlamaForCausalLM"),
        MISTRAL("mistral", "MistralForCausalLM"),
        QWEN2("qwen2", "Qwen2ForCausalLM"),
        QWEN3("qwen3", "Qwen3ForCausalLM");

        private final String modelType;
        private final String architecture;

        Family(String modelType, String architecture) {
            this.modelType = modelType;
            this.architecture = architecture;
        }

        /** {@code model_type} in config.json. */
        public String modelType() {
            return modelType;
        }

        /** Class name in {@code architectures}. */
        public String architecture() {
            return architecture;
        }
    }

    /** Biases of query/key/value, of the attention's output, and of the MLP. */
    public record Biases(boolean qkv, boolean output, boolean mlp) {
        /** No bias anywhere. */
        public static final Biases NONE = new Biases(false, false, false);
    }

    /** Whether queries and keys are RMS-normalised per head (Qwen3). */
    public enum HeadNorm { NONE, RMS }

    /** Whether embedding and LM head share one matrix. */
    public enum Embeddings { TIED, SEPARATE }

    public ModelConfig {
        positive("vocab_size", vocabSize);
        positive("hidden_size", hiddenSize);
        positive("intermediate_size", intermediateSize);
        positive("num_hidden_layers", layers);
        positive("num_attention_heads", heads);
        positive("num_key_value_heads", kvHeads);
        positive("head_dim", headDim);
        positive("max_position_embeddings", contextLength);
        if (heads % kvHeads != 0) {
            throw new IllegalArgumentException("num_attention_heads " + heads + " is not a multiple of num_key_value_heads " + kvHeads);
        }
        if (headDim % 2 != 0) {
            throw new IllegalArgumentException("head_dim " + headDim + " is odd; rotary embedding needs pairs");
        }
        eosTokenIds = List.copyOf(eosTokenIds);
    }

    /** Reads {@code config.json} and {@code generation_config.json} of a Hugging Face model directory. */
    public static ModelConfig read(Path directory) {
        return new ConfigJson(directory).read();
    }

    /** Writes {@code config.json} and {@code generation_config.json}. */
    public void write(Path directory) {
        ConfigJson.write(this, directory);
    }

    private static void positive(String key, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(key + " is " + value + ", must be at least 1");
        }
    }
}
