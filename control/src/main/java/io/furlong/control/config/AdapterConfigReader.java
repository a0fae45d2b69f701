package io.furlong.control.config;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.EvalConfig;
import io.furlong.core.FilterConfig;
import io.furlong.core.InitFrom;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.RegistrationId;
import io.furlong.core.RewardConfig;
import io.furlong.core.SamplingConfig;
import io.furlong.core.StopRule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The keys of an adapter.yaml, and of {@code config} in the HTTP API. The reference system's keys keep their names and
 * meaning; what is global there ({@code sampling}, {@code loss}, {@code optimizer}, …) is a section here.
 * A run's defaults lie under the adapter's own keys. Only what can be seen in the text is checked here; whether files,
 * rewards and shapes fit is asked of every {@link io.furlong.core.ConfigCheck}.
 */
public final class AdapterConfigReader {
    private static final SamplingConfig SAMPLING = SamplingConfig.at(1.0, 64);
    private static final Duration REWARD_TIMEOUT = Duration.ofSeconds(30);
    private static final int ROLLOUT_BATCH_SIZE = 16;
    private static final int SAMPLES_PER_PROMPT = 8;
    private static final int RANK = 8;
    private static final int EVAL_ROWS = 200;

    private final ConfigNode.Mapping defaults;
    private final AllowedRoots roots;
    private final Path saveRoot;

    /**
     * @param defaults keys under every adapter's own
     * @param roots    where data and save directories may lie
     * @param saveRoot an adapter without {@code save} exports to {@code saveRoot/<name>}
     * @throws ConfigErrors when the defaults are wrong whatever the adapter says
     */
    public AdapterConfigReader(ConfigNode.Mapping defaults, AllowedRoots roots, Path saveRoot) {
        this.defaults = defaults;
        this.roots = roots;
        this.saveRoot = saveRoot.toAbsolutePath().normalize();
        ConfigNode.Text given = new ConfigNode.Text(defaults.place(), "given-by-the-adapter");
        Fields f = Fields.of(merged(new ConfigNode.Mapping(defaults.place(), Map.of("rm_type", given))), AllowedRoots.ANY);
        f.path("data");
        readBeyondData("defaults", f, given.value());
        f.finish();
    }

    /** No defaults but the built-in ones, no limit on paths. */
    public static AdapterConfigReader plain(Path saveRoot) {
        return new AdapterConfigReader(ConfigNode.Mapping.empty(new Place(new Source.Body("defaults", Path.of("")), 0)), AllowedRoots.ANY, saveRoot);
    }

    /** @throws ConfigErrors with every mistake found in the file */
    public AdapterConfig readFile(String adapter, Path yaml) {
        return read(adapter, YamlFile.read(yaml));
    }

    /**
     * @param config the JSON under {@code config} of a request; messages start with that word
     * @param base   where its relative paths start
     * @throws ConfigErrors with every mistake found in it
     */
    public AdapterConfig readBody(String adapter, JsonNode config, Path base) {
        return read(adapter, JsonBody.of(config, new Source.Body("config", base.toAbsolutePath().normalize())));
    }

    /** @throws ConfigErrors with every mistake found */
    public AdapterConfig read(String adapter, ConfigNode.Mapping own) {
        Fields f = Fields.of(merged(own), roots);
        Optional<Path> data = f.path("data");
        if (!f.has("data")) {
            f.problem("data", "is missing, must be a dataset file");
        }
        Optional<AdapterConfig> config = readBeyondData(adapter, f, data.map(Path::toString).orElse(""));
        f.finish();
        return config.orElseThrow();
    }

    /** An adapter that chooses its own reward, length or start replaces the default of either spelling. */
    private ConfigNode.Mapping merged(ConfigNode.Mapping own) {
        ConfigNode.Mapping under = defaults;
        if (own.entries().containsKey("rm_type") || own.entries().containsKey("custom_rm_path")) {
            under = under.without("rm_type").without("custom_rm_path");
        }
        if (own.entries().containsKey("num_step") || own.entries().containsKey("num_epoch")) {
            under = under.without("num_step").without("num_epoch");
        }
        if (own.entries().containsKey("init_from")) {
            under = under.without("init_from");
        }
        return own.over(under);
    }

    private Optional<AdapterConfig> readBeyondData(String adapter, Fields f, String dataPath) {
        DataConfig data = new DataConfig(Path.of(dataPath), f.text("input_key", "text"), f.text("label_key"), f.text("metadata_key"),
                f.flag("apply_chat_template", DataConfig.Template.CHAT, DataConfig.Template.AS_IS, DataConfig.Template.AS_IS),
                f.flag("shuffle", DataConfig.Order.SHUFFLED, DataConfig.Order.AS_WRITTEN, DataConfig.Order.SHUFFLED),
                f.integer("max_prompt_tokens"));
        Optional<RewardConfig> reward = reward(f);
        int batch = f.integer("rollout_batch_size", ROLLOUT_BATCH_SIZE);
        int samples = f.integer("n_samples_per_prompt", SAMPLES_PER_PROMPT);
        int rank = f.integer("rank", RANK);
        double alpha = f.number("alpha", 2.0 * rank);
        List<String> targets = f.texts("target_modules", LoraConfig.ALL_LINEAR);
        Optional<LoraConfig> lora = f.build(() -> new LoraConfig(rank, alpha, targets));
        Optional<SamplingConfig> sampling = sampling(f.section("sampling"));
        Optional<LossConfig> loss = loss(f.section("loss"));
        Optional<OptimizerConfig> optimizer = optimizer(f.section("optimizer"));
        int staleness = f.integer("max_staleness", 1);
        AdapterConfig.Stragglers stragglers = f.choice("stragglers", AdapterConfig.Stragglers.WAIT);
        double weight = f.number("weight", 1);
        Optional<StopRule> stop = stop(f);
        List<FilterConfig> filters = filters(f, batch);
        Optional<EvalConfig> eval = eval(f);
        Optional<InitFrom> init = initFrom(f);
        Path save = f.path("save").orElseGet(() -> saveRoot.resolve(adapter));
        Map<String, Object> metadata = f.map("metadata");
        if (reward.isEmpty() || lora.isEmpty() || sampling.isEmpty() || loss.isEmpty() || optimizer.isEmpty() || stop.isEmpty()) {
            return Optional.empty();
        }
        return f.build(() -> new AdapterConfig(data, reward.get(), batch, samples, lora.get(), sampling.get(), loss.get(), optimizer.get(),
                staleness, stragglers, weight, stop.get(), filters, eval, init, save, metadata));
    }

    private static Optional<RewardConfig> reward(Fields f) {
        Optional<String> rmType = f.text("rm_type");
        Optional<String> custom = f.text("custom_rm_path");
        Duration timeout = f.duration("reward_timeout", REWARD_TIMEOUT);
        if (!f.has("rm_type") && !f.has("custom_rm_path")) {
            f.problem("rm_type", "is missing, must be the name of a reward (or custom_rm_path a reward class)");
            return Optional.empty();
        }
        if (f.has("rm_type") && f.has("custom_rm_path")) {
            f.problem("custom_rm_path", "is given beside rm_type, must be one of the two");
            return Optional.empty();
        }
        if (rmType.isEmpty() && custom.isEmpty()) {
            return Optional.empty();
        }
        return f.build(() -> new RewardConfig(rmType, custom, timeout));
    }

    private static Optional<SamplingConfig> sampling(Fields s) {
        SamplingConfig d = SAMPLING;
        double temperature = s.number("temperature", d.temperature());
        double topP = s.number("top_p", d.topP());
        int topK = s.integer("top_k", d.topK());
        double minP = s.number("min_p", d.minP());
        double frequency = s.number("frequency_penalty", d.frequencyPenalty());
        double presence = s.number("presence_penalty", d.presencePenalty());
        double repetition = s.number("repetition_penalty", d.repetitionPenalty());
        int maxNew = s.integer("max_new_tokens", d.maxNewTokens());
        int minNew = s.integer("min_new_tokens", d.minNewTokens());
        List<String> stop = s.texts("stop", d.stop());
        List<Integer> stopIds = s.integers("stop_token_ids", d.stopTokenIds());
        SamplingConfig.IgnoreEos eos = s.flag("ignore_eos", SamplingConfig.IgnoreEos.IGNORE_EOS, SamplingConfig.IgnoreEos.STOP_AT_EOS, d.eos());
        return s.build(() -> new SamplingConfig(temperature, topP, topK, minP, frequency, presence, repetition, maxNew, minNew, stop,
                stopIds, eos));
    }

    private static Optional<LossConfig> loss(Fields l) {
        LossConfig d = LossConfig.DEFAULT;
        String type = l.text("type", d.type());
        double low = l.number("clip_low", d.clipLow());
        double high = l.number("clip_high", d.clipHigh());
        double kl = l.number("kl", d.kl());
        return l.build(() -> new LossConfig(type, low, high, kl));
    }

    private static Optional<OptimizerConfig> optimizer(Fields o) {
        OptimizerConfig d = OptimizerConfig.DEFAULT;
        String type = o.text("type", d.type());
        double lr = o.number("lr", d.lr());
        String schedule = o.text("schedule", d.schedule());
        int warmup = o.integer("warmup_steps", d.warmupSteps());
        double beta1 = o.number("beta1", d.beta1());
        double beta2 = o.number("beta2", d.beta2());
        double eps = o.number("eps", d.eps());
        double decay = o.number("weight_decay", d.weightDecay());
        double norm = o.number("max_grad_norm", d.maxGradNorm());
        return o.build(() -> new OptimizerConfig(type, lr, schedule, warmup, beta1, beta2, eps, decay, norm));
    }

    private static Optional<StopRule> stop(Fields f) {
        OptionalInt numStep = f.integer("num_step");
        OptionalInt numEpoch = f.integer("num_epoch");
        Fields s = f.section("stop");
        var target = s.number("reward_target");
        int evals = s.integer("target_evals", 1);
        var wallClock = s.duration("wall_clock");
        var tokens = s.integer64("token_budget");
        if (s.has("reward_target") && !f.has("eval")) {
            s.problem("reward_target", "needs an eval section, whose accuracy it is held against");
        }
        return f.build(() -> new StopRule(numStep, numEpoch, target, evals, wallClock, tokens));
    }

    private static List<FilterConfig> filters(Fields f, int batch) {
        List<FilterConfig> filters = new ArrayList<>();
        for (Fields entry : f.sections("filters", "type")) {
            String type = entry.text("type", "");
            int limit = entry.integer("limit_per_step", Math.max(1, batch));
            if (!entry.has("type")) {
                entry.problem("type", "is missing, must be the name of a filter");
            }
            f.build(() -> new FilterConfig(type, limit)).ifPresent(filters::add);
        }
        return filters;
    }

    private static Optional<EvalConfig> eval(Fields f) {
        Fields e = f.section("eval");
        Optional<Path> data = e.path("data");
        int every = e.integer("every", 0);
        int rows = e.integer("max_rows", EVAL_ROWS);
        int samples = e.integer("samples", 0);
        if (!f.has("eval")) {
            return Optional.empty();
        }
        if (!e.has("data")) {
            e.problem("data", "is missing, must be a dataset file of held-out rows");
        }
        return f.build(() -> new EvalConfig(data.orElse(Path.of("")), every, rows, samples));
    }

    /** {@code resume}, {@code {peft: directory}} or {@code {adapter, registration, version}}. */
    private static Optional<InitFrom> initFrom(Fields f) {
        Optional<ConfigNode> node = f.node("init_from");
        if (node.isEmpty()) {
            return Optional.empty();
        }
        if (node.get() instanceof ConfigNode.Text text && text.value().equals("resume")) {
            return Optional.of(new InitFrom.Resume());
        }
        if (!(node.get() instanceof ConfigNode.Mapping)) {
            f.problem("init_from", "got " + node.get().shown() + ", must be resume, {peft: directory} or {adapter: name, registration: id, version: number}");
            return Optional.empty();
        }
        Fields i = f.section("init_from");
        Optional<Path> peft = i.path("peft");
        Optional<String> adapter = i.text("adapter");
        Optional<String> registration = i.text("registration");
        var version = i.integer64("version");
        if (i.has("peft")) {
            return peft.map(InitFrom.Peft::new);
        }
        if (registration.isPresent() && !registration.get().matches("[0-9a-f]{32}")) {
            i.problem("registration", "got '" + registration.get() + "', must be 32 lower-case hex digits");
            return Optional.empty();
        }
        if (adapter.isEmpty() || registration.isEmpty() || version.isEmpty()) {
            i.problem("", "must be resume, {peft: directory} or {adapter: name, registration: id, version: number}");
            return Optional.empty();
        }
        return Optional.of(new InitFrom.Version(adapter.get(), new RegistrationId(registration.get()), version.getAsLong()));
    }
}
