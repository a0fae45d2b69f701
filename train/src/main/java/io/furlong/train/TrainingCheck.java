package io.furlong.train;

import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigCheck;
import io.furlong.core.ConfigException;
import io.furlong.core.LoraConfig;
import io.furlong.core.SamplingConfig;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.Projection;
import io.furlong.train.loss.PolicyLoss;
import io.furlong.train.optim.LearningRate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What the trainer can't train: unknown names, ranks beyond the limit or the layers, and sampling whose distribution it can't compute again.
 */
public final class TrainingCheck implements ConfigCheck {
    private final ModelConfig model;
    private final int maxRank;

    /** @param maxRank the highest rank that engines are set up for */
    public TrainingCheck(ModelConfig model, int maxRank) {
        this.model = model;
        this.maxRank = maxRank;
    }

    @Override
    public List<String> problems(String adapter, AdapterConfig config) {
        List<String> problems = new ArrayList<>();
        targets(config.lora(), problems);
        rank(config.lora(), problems);
        sampling(config.sampling(), problems);
        if (!config.optimizer().type().equals("adamw")) {
            problems.add("optimizer.type: got '" + config.optimizer().type() + "', must be adamw");
        }
        try {
            LearningRate.shape(config.optimizer().schedule());
        } catch (ConfigException e) {
            problems.add(e.getMessage());
        }
        try {
            PolicyLoss.of(config.loss());
        } catch (ConfigException e) {
            problems.add(e.getMessage());
        }
        return problems;
    }

    private void rank(LoraConfig lora, List<String> problems) {
        int limit = Math.min(maxRank, model.hiddenSize());
        if (lora.rank() > limit) {
            problems.add("rank: got " + lora.rank() + ", must be at most " + limit + (limit == maxRank ? " (lora.max_rank)" : " (the model's width)"));
        }
    }

    private static void targets(LoraConfig lora, List<String> problems) {
        if (lora.targets().equals(LoraConfig.ALL_LINEAR)) {
            return;
        }
        for (String target : lora.targets()) {
            if (Projection.named(target).isEmpty()) {
                problems.add("target_modules: got '" + target + "', must be all-linear alone, or of " + Arrays.stream(Projection.values())
                        .map(Projection::moduleName).collect(Collectors.joining(", ")));
            }
        }
    }

    private static void sampling(SamplingConfig s, List<String> problems) {
        off("temperature", s.temperature(), s.temperature() > 0, "above 0", problems);
        off("top_p", s.topP(), s.topP() == 1, "1", problems);
        off("top_k", s.topK(), s.topK() == -1, "-1 (off)", problems);
        off("min_p", s.minP(), s.minP() == 0, "0", problems);
        off("frequency_penalty", s.frequencyPenalty(), s.frequencyPenalty() == 0, "0", problems);
        off("presence_penalty", s.presencePenalty(), s.presencePenalty() == 0, "0", problems);
        off("repetition_penalty", s.repetitionPenalty(), s.repetitionPenalty() == 1, "1", problems);
        off("min_new_tokens", s.minNewTokens(), s.minNewTokens() == 0, "0", problems);
    }

    private static void off(String field, Object value, boolean right, String accepted, List<String> problems) {
        if (!right) {
            problems.add("sampling." + field + ": got " + value + ", must be " + accepted + " for training: the trainer computes log_softmax(logits / T)");
        }
    }
}
