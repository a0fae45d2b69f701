package io.furlong.control.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.InitFrom;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.SamplingConfig;
import io.furlong.core.StopRule;

/** An adapter's configuration as JSON with the keys of adapter.yaml; {@link AdapterConfigReader} reads back an equal one. */
public final class AdapterConfigJson {
    private static final ObjectMapper JSON = new ObjectMapper();

    private AdapterConfigJson() {}

    public static ObjectNode write(AdapterConfig c) {
        ObjectNode o = JsonNodeFactory.instance.objectNode();
        o.put("data", c.data().path().toString());
        o.put("input_key", c.data().inputKey());
        c.data().labelKey().ifPresent(k -> o.put("label_key", k));
        c.data().metadataKey().ifPresent(k -> o.put("metadata_key", k));
        o.put("apply_chat_template", c.data().template() == DataConfig.Template.CHAT);
        o.put("shuffle", c.data().order() == DataConfig.Order.SHUFFLED);
        c.data().maxPromptTokens().ifPresent(n -> o.put("max_prompt_tokens", n));
        c.reward().rmType().ifPresent(t -> o.put("rm_type", t));
        c.reward().customRmPath().ifPresent(t -> o.put("custom_rm_path", t));
        o.put("reward_timeout", DurationText.of(c.reward().timeout()));
        o.put("rollout_batch_size", c.rolloutBatchSize());
        o.put("n_samples_per_prompt", c.nSamplesPerPrompt());
        o.put("rank", c.lora().rank());
        o.put("alpha", c.lora().alpha());
        c.lora().targets().forEach(o.putArray("target_modules")::add);
        sampling(o.putObject("sampling"), c.sampling());
        loss(o.putObject("loss"), c.loss());
        optimizer(o.putObject("optimizer"), c.optimizer());
        o.put("max_staleness", c.maxStaleness());
        o.put("stragglers", Fields.spelt(c.stragglers()));
        o.put("weight", c.weight());
        stop(o, c.stop());
        ArrayNode filters = o.putArray("filters");
        c.filters().forEach(f -> filters.addObject().put("type", f.type()).put("limit_per_step", f.limitPerStep()));
        c.eval().ifPresent(e -> o.putObject("eval").put("data", e.data().toString()).put("every", e.every())
                .put("max_rows", e.maxRows()).put("samples", e.samples()));
        c.initFrom().ifPresent(i -> o.set("init_from", initFrom(i)));
        o.put("save", c.save().toString());
        o.set("metadata", JSON.valueToTree(c.metadata()));
        return o;
    }

    private static void sampling(ObjectNode o, SamplingConfig s) {
        o.put("temperature", s.temperature()).put("top_p", s.topP()).put("top_k", s.topK()).put("min_p", s.minP());
        o.put("frequency_penalty", s.frequencyPenalty()).put("presence_penalty", s.presencePenalty());
        o.put("repetition_penalty", s.repetitionPenalty());
        o.put("max_new_tokens", s.maxNewTokens()).put("min_new_tokens", s.minNewTokens());
        s.stop().forEach(o.putArray("stop")::add);
        s.stopTokenIds().forEach(o.putArray("stop_token_ids")::add);
        o.put("ignore_eos", s.eos() == SamplingConfig.IgnoreEos.IGNORE_EOS);
    }

    private static void loss(ObjectNode o, LossConfig l) {
        o.put("type", l.type()).put("clip_low", l.clipLow()).put("clip_high", l.clipHigh()).put("kl", l.kl());
    }

    private static void optimizer(ObjectNode o, OptimizerConfig p) {
        o.put("type", p.type()).put("lr", p.lr()).put("schedule", p.schedule()).put("warmup_steps", p.warmupSteps());
        o.put("beta1", p.beta1()).put("beta2", p.beta2()).put("eps", p.eps());
        o.put("weight_decay", p.weightDecay()).put("max_grad_norm", p.maxGradNorm());
    }

    private static void stop(ObjectNode o, StopRule s) {
        s.numStep().ifPresent(n -> o.put("num_step", n));
        s.numEpoch().ifPresent(n -> o.put("num_epoch", n));
        ObjectNode rules = o.putObject("stop");
        s.rewardTarget().ifPresent(t -> rules.put("reward_target", t));
        rules.put("target_evals", s.targetEvals());
        s.wallClock().ifPresent(d -> rules.put("wall_clock", DurationText.of(d)));
        s.tokenBudget().ifPresent(n -> rules.put("token_budget", n));
    }

    private static JsonNode initFrom(InitFrom from) {
        ObjectNode o = JsonNodeFactory.instance.objectNode();
        return switch (from) {
            case InitFrom.Resume r -> JsonNodeFactory.instance.textNode("resume");
            case InitFrom.Peft p -> o.put("peft", p.directory().toString());
            case InitFrom.Version v -> o.put("adapter", v.adapter()).put("registration", v.registration().hex()).put("version", v.version());
        };
    }
}
