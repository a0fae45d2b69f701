package io.furlong.cli.config;

import io.furlong.control.config.AdapterConfigReader;
import io.furlong.control.config.AllowedRoots;
import io.furlong.control.config.ConfigErrors;
import io.furlong.control.config.ConfigNode;
import io.furlong.control.config.Fields;
import io.furlong.control.config.Place;
import io.furlong.control.config.Source;
import io.furlong.control.config.YamlFile;
import io.furlong.core.AdapterConfig;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/** Reads a run.yaml with the adapters it names, and notes every mistake in any of the files. */
public final class RunConfigReader {
    private final Path file;
    private final Path directory;
    private final Fields fields;
    private final Set<String> mistakes = new LinkedHashSet<>();

    private RunConfigReader(Path file) {
        this.file = file;
        this.directory = Optional.ofNullable(file.toAbsolutePath().normalize().getParent()).orElse(Path.of("/"));
        this.fields = Fields.of(YamlFile.read(shown(file)));
    }

    /**
     * What a command line says over the file.
     *
     * @param numStep  for every adapter
     * @param saveRoot where adapters without {@code save} go; {@code adapters} inside the directory of runs by default
     */
    public record Overrides(OptionalLong seed, OptionalInt numStep, Optional<String> store, Optional<Path> saveRoot) {
        public static final Overrides NONE = new Overrides(OptionalLong.empty(), OptionalInt.empty(), Optional.empty(), Optional.empty());
    }

    /** @throws ConfigErrors with every mistake found */
    public static RunConfig read(Path file, Overrides given) {
        return new RunConfigReader(file).read(given);
    }

    private RunConfig read(Overrides given) {
        Optional<Path> model = fields.path("model");
        if (!fields.has("model")) {
            fields.problem("model", "is missing, must be a Hugging Face model directory");
        }
        model.filter(dir -> !Files.isRegularFile(dir.resolve("config.json")))
                .ifPresent(dir -> fields.problem("model", "got '" + dir + "', must be a Hugging Face model directory (there is no config.json in it)"));
        long seed = fields.integer64("seed").orElse(1);
        var repeatability = fields.flag("deterministic", RunConfig.Repeatability.DETERMINISTIC, RunConfig.Repeatability.SEEDED,
                RunConfig.Repeatability.SEEDED);
        Optional<EngineConfig> engine = engine(fields.section("engine"));
        Optional<RunConfig.Lora> lora = lora(fields.section("lora"));
        Optional<RunConfig.Rollout> rollout = rollout(fields.section("rollout"));
        String written = store();
        String store = given.store().orElse(written);
        Path runs = fields.path("runs").orElse(directory.resolve("runs"));
        List<String> rewards = fields.texts("custom_rewards", List.of());
        Optional<ApiConfig> api = api(fields.section("api"));
        if (repeatability == RunConfig.Repeatability.DETERMINISTIC && engine.isPresent() && engine.get() instanceof EngineConfig.Fleet) {
            fields.problem("deterministic", "needs the embedded engine: leave out engine.url, or set it to false");
        }
        Path saveRoot = given.saveRoot().orElse(runs.resolve("adapters"));
        Map<String, AdapterConfig> adapters = adapters(adapterReader(AllowedRoots.ANY, saveRoot), given.numStep());
        Optional<AdapterConfigReader> reader = api.flatMap(a -> adapterReader(AllowedRoots.of(a.roots()), saveRoot));
        List<String> all = new ArrayList<>(fields.problems());
        all.addAll(mistakes);
        if (!all.isEmpty()) {
            throw new ConfigErrors(all);
        }
        return new RunConfig(directory, model.orElseThrow(), given.seed().orElse(seed), repeatability, engine.orElseThrow(), lora.orElseThrow(),
                rollout.orElseThrow(), store, runs, rewards, api.orElseThrow(), reader.orElseThrow(), adapters);
    }

    private static Optional<EngineConfig> engine(Fields e) {
        var publish = e.choice("publish", EngineConfig.Publish.VERSIONED);
        Optional<String> url = e.text("url");
        var routing = e.choice("routing", EngineConfig.Fleet.Routing.ROUTER);
        List<String> managed = e.texts("manage_workers", List.of());
        Optional<Path> adapterDir = e.path("adapter_dir");
        var concurrency = e.integer("sglang_server_concurrency");
        if (!e.has("url")) {
            for (String key : List.of("routing", "manage_workers", "adapter_dir")) {
                if (e.has(key)) {
                    e.problem(key, "needs engine.url; the embedded engine has no use for it");
                }
            }
            return e.build(() -> new EngineConfig.Embedded(publish, concurrency.orElse(EngineConfig.Embedded.DEFAULT.concurrency())));
        }
        Optional<URI> uri = url.flatMap(RunConfigReader::httpUrl);
        if (url.isPresent() && uri.isEmpty()) {
            e.problem("url", "got '" + url.get() + "', must be an http:// or https:// URL with a host");
        }
        if (!e.has("adapter_dir")) {
            e.problem("adapter_dir", "is missing, must be a directory that every engine sees under the same path");
        }
        List<URI> workers = managed.stream().flatMap(text -> httpUrl(text).stream()).toList();
        if (workers.size() < managed.size()) {
            e.problem("manage_workers", "must be a list of http:// or https:// URLs of engines");
        }
        if (!workers.isEmpty() && routing == EngineConfig.Fleet.Routing.DIRECT) {
            e.problem("manage_workers", "needs routing: router, whose workers they become");
        }
        if (uri.isEmpty() || adapterDir.isEmpty()) {
            return Optional.empty();
        }
        return e.build(() -> new EngineConfig.Fleet(uri.get(), routing, workers, publish, adapterDir.get(), concurrency.orElse(512)));
    }

    private static Optional<URI> httpUrl(String text) {
        try {
            URI uri = new URI(text);
            boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
            return http && uri.getHost() != null ? Optional.of(uri) : Optional.empty();
        } catch (URISyntaxException e) {
            return Optional.empty();
        }
    }

    private static Optional<RunConfig.Lora> lora(Fields l) {
        int adapters = l.integer("max_adapters", RunConfig.Lora.DEFAULT.maxAdapters());
        int rank = l.integer("max_rank", RunConfig.Lora.DEFAULT.maxRank());
        return l.build(() -> new RunConfig.Lora(adapters, rank));
    }

    private static Optional<RunConfig.Rollout> rollout(Fields r) {
        RunConfig.Rollout d = RunConfig.Rollout.DEFAULT;
        int batch = r.integer("global_batch_size", d.globalBatchSize());
        var coalesce = r.duration("max_coalesce_wait", d.maxCoalesceWait());
        var empty = r.duration("empty_batch_timeout", d.emptyBatchTimeout());
        int retries = r.integer("max_retries", d.maxRetries());
        return r.build(() -> new RunConfig.Rollout(batch, coalesce, empty, retries));
    }

    private Optional<ApiConfig> api(Fields a) {
        String host = a.text("host", ApiConfig.DEFAULT_HOST);
        int port = a.integer("port", ApiConfig.DEFAULT_PORT);
        List<Path> roots = a.texts("roots", List.of(".")).stream().map(root -> directory.resolve(root).normalize()).toList();
        return a.build(() -> new ApiConfig(host, port, roots));
    }

    /** A path from this file, but {@code memory} and URLs stay as they are. */
    private String store() {
        String written = fields.text("store", "runs/furlong.db");
        if (written.equals("memory") || written.startsWith("jdbc:postgresql:")) {
            return written;
        }
        if (written.startsWith("jdbc:")) {
            fields.problem("store", "got '" + written + "', must be a file, memory, or a jdbc:postgresql: URL");
            return written;
        }
        return fields.path("store").orElse(directory.resolve(written)).toString();
    }

    private Optional<AdapterConfigReader> adapterReader(AllowedRoots roots, Path saveRoot) {
        ConfigNode.Mapping none = ConfigNode.Mapping.empty(new Place(Source.File.of(file), 0));
        Optional<ConfigNode> defaults = fields.node("defaults");
        if (defaults.isPresent() && !(defaults.get() instanceof ConfigNode.Mapping)) {
            fields.section("defaults");
            return Optional.empty();
        }
        try {
            return Optional.of(new AdapterConfigReader(defaults.map(ConfigNode.Mapping.class::cast).orElse(none), roots, saveRoot));
        } catch (ConfigErrors e) {
            mistakes.addAll(e.lines());
            return Optional.empty();
        }
    }

    private Map<String, AdapterConfig> adapters(Optional<AdapterConfigReader> reader, OptionalInt numStep) {
        Map<String, AdapterConfig> adapters = new LinkedHashMap<>();
        Fields named = fields.section("adapters");
        for (String name : named.keys()) {
            Optional<ConfigNode> written = named.node(name);
            if (written.isEmpty()) {
                named.problem(name, "is empty, must be the path of an adapter.yaml, or its keys");
                continue;
            }
            Optional<Path> path = written.get() instanceof ConfigNode.Mapping ? Optional.empty() : named.path(name);
            noting(() -> {
                ConfigNode.Mapping own = written.get() instanceof ConfigNode.Mapping inline ? inline : path.map(p -> YamlFile.read(shown(p))).orElse(null);
                if (own != null && reader.isPresent()) {
                    adapters.put(name, reader.get().read(name, withNumStep(own, numStep)));
                }
            });
        }
        return adapters;
    }

    private static ConfigNode.Mapping withNumStep(ConfigNode.Mapping own, OptionalInt numStep) {
        return numStep.isEmpty() ? own : new ConfigNode.Mapping(own.place(),
                Map.of("num_step", new ConfigNode.Num(own.place(), (long) numStep.getAsInt()))).over(own);
    }

    private void noting(Runnable reading) {
        try {
            reading.run();
        } catch (ConfigErrors e) {
            mistakes.addAll(e.lines());
        }
    }

    /** The shorter of the path and the path from where the user stands. */
    private static Path shown(Path path) {
        Path here = Path.of("").toAbsolutePath();
        return path.startsWith(here) ? here.relativize(path) : path;
    }
}
