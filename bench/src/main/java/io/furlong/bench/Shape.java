package io.furlong.bench;

import io.furlong.torch.BaseModel;
import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.Rope;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Model shapes that are measured; weights are random, speed doesn't depend on them. */
public enum Shape {
    /** That of the shipped base: 0.8 M parameters. */
    TINY(80, 128, 384, 4, 4, 2, 32),
    /** That of SmolLM2-135M. */
    M135(49152, 576, 1536, 30, 9, 3, 64);

    private final ModelConfig config;

    Shape(int vocab, int hidden, int inner, int layers, int heads, int kvHeads, int headDim) {
        config = new ModelConfig(ModelConfig.Family.LLAMA, vocab, hidden, inner, layers, heads, kvHeads, headDim, 1e-5, ModelConfig.Biases.NONE,
                ModelConfig.HeadNorm.NONE, ModelConfig.Embeddings.TIED, 2048, new Rope(10_000, new Rope.None()), List.of());
    }

    public ModelConfig config() {
        return config;
    }

    BaseModel model() {
        return BaseModel.random(config, 1);
    }

    /** n adapters of rank 8 on all linear layers. */
    List<LoraWeights> adapters(int n) {
        List<LoraWeights> adapters = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            try (LoraWeights fresh = LoraWeights.init(config, LoraSpec.allLinear(8, 16), i)) {
                adapters.add(fresh.frozenCopy());
            }
        }
        return adapters;
    }

    @Override
    public String toString() {
        return this == M135 ? "135m" : name().toLowerCase(Locale.ROOT);
    }
}
