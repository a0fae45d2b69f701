package io.furlong.sglang;

import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigCheck;
import io.furlong.core.LoraConfig;
import java.util.ArrayList;
import java.util.List;

/** What in an adapter's configuration the engines could not serve: rank, layers, lengths, stop strings. */
public final class EngineCheck implements ConfigCheck {
    private final Fleet fleet;

    public EngineCheck(Fleet fleet) {
        this.fleet = fleet;
    }

    @Override
    public List<String> problems(String adapter, AdapterConfig config) {
        List<String> problems = new ArrayList<>();
        for (EngineView engine : fleet.engines()) {
            engine.facts().ifPresent(facts -> check(adapter, config, engine.url().toString(), facts, problems));
        }
        return problems;
    }

    private static void check(String adapter, AdapterConfig config, String engine, EngineFacts facts, List<String> problems) {
        String at = "; engine " + engine + " ";
        if (!facts.loraEnabled()) {
            problems.add(adapter + at + "was started without --enable-lora");
        }
        int rank = config.lora().rank();
        if (facts.maxRank().isPresent() && rank > facts.maxRank().getAsInt()) {
            problems.add(adapter + ": rank is " + rank + at + "takes at most " + facts.maxRank().getAsInt() + " (--max-lora-rank)");
        }
        if (!config.lora().targets().equals(LoraConfig.ALL_LINEAR)) {
            for (String layer : config.lora().targets()) {
                if (!facts.targets(layer)) {
                    problems.add(adapter + ": target_modules has " + layer + at + "takes " + facts.targets() + " (--lora-target-modules)");
                }
            }
        }
        if (facts.context().isPresent() && config.sampling().maxNewTokens() >= facts.context().getAsInt()) {
            problems.add(adapter + ": sampling.max_new_tokens is " + config.sampling().maxNewTokens() + at + "has a context of " + facts.context().getAsInt() + " tokens for prompt and response");
        }
        if (!facts.tokenizer() && (!config.sampling().stop().isEmpty() || config.sampling().minNewTokens() > 0)) {
            problems.add(adapter + ": sampling.stop and min_new_tokens need a tokenizer" + at + "runs with --skip-tokenizer-init; use stop_token_ids");
        }
    }
}
