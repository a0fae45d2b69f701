package io.furlong.it.crash;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.run.TrainingRun;
import io.furlong.control.Store;
import io.furlong.control.store.Stores;
import io.furlong.core.Adapter;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistryView;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;

/**
 * A run of the shipped base that costs next to nothing: a few groups a step, short answers. Its store and its files lie in one directory.
 *
 * @param steps by adapter
 */
record SmallRun(Path directory, String head, Map<String, Integer> steps) {
    static final int GROUPS = 2;
    static final int STALENESS = 1;
    static final Path HOME = Path.of(System.getProperty("furlong.it.home", "..")).toAbsolutePath().normalize();

    SmallRun {
        steps = new TreeMap<>(steps);
    }

    /** Everything in one process, bit for bit repeatable. */
    static SmallRun deterministic(Path directory, Map<String, Integer> steps) {
        return new SmallRun(directory, "deterministic: true\n" + slots(2), steps);
    }

    /** The same with one slot for all: the others wait for it. */
    static SmallRun oneAfterTheOther(Path directory, Map<String, Integer> steps) {
        return new SmallRun(directory, "deterministic: true\n" + slots(1), steps);
    }

    private static String slots(int count) {
        return "lora: {max_adapters: " + count + ", max_rank: 4}\n";
    }

    /** The engines in processes of their own; generation goes on while the trainer trains. */
    static SmallRun asynchronous(Path directory, Map<String, Integer> steps, URI engines) {
        return new SmallRun(directory, "engine: {url: '" + engines + "', routing: direct, adapter_dir: " + directory.resolve("versions")
                + ", sglang_server_concurrency: 8}\n" + slots(2), steps);
    }

    /** The same through a router, whose list of workers is not our business. */
    static SmallRun routed(Path directory, Map<String, Integer> steps, URI router) {
        return new SmallRun(directory, "engine: {url: '" + router + "', routing: router, adapter_dir: " + directory.resolve("versions")
                + ", sglang_server_concurrency: 8}\n", steps);
    }

    Path file() {
        return directory.resolve("run.yaml");
    }

    Path store() {
        return directory.resolve("furlong.db");
    }

    /** Where an adapter's weights are once it has ended. */
    Path weights(String adapter) {
        return directory.resolve("out").resolve(adapter).resolve("adapter_model.safetensors");
    }

    SmallRun write() throws IOException {
        Files.createDirectories(directory);
        StringBuilder yaml = new StringBuilder(head + "seed: 7\nmodel: " + HOME.resolve("models/furlong-tiny") + "\nstore: " + store()
                + "\ndefaults: {rollout_batch_size: " + GROUPS + ", n_samples_per_prompt: 2, max_staleness: " + STALENESS + ", rank: 4, alpha: 8, rm_type: exact_match,"
                + " input_key: text, label_key: label, optimizer: {lr: 3.0e-3}, sampling: {temperature: 1.0, max_new_tokens: 4}}\nadapters:\n");
        steps.forEach((name, n) -> yaml.append("  ").append(name).append(": {num_step: ").append(n).append(", data: ")
                .append(HOME.resolve("examples/quickstart").resolve(name).resolve("train.jsonl")).append("}\n"));
        Files.writeString(file(), yaml);
        return this;
    }

    Path versions() {
        return directory.resolve("versions");
    }

    /** Runs to the end in this process, and says what it did. */
    List<Move> go(BiConsumer<Move, Path> watching) throws Exception {
        return go(watching, (move, inForce) -> { });
    }

    /** @param and told of each move along with the version of its adapter that everybody sees in force then; 0 when none is */
    List<Move> go(BiConsumer<Move, Path> watching, BiConsumer<Move, Long> and) throws Exception {
        List<Move> moves = new ArrayList<>();
        AtomicReference<Optional<RegistryView>> registry = new AtomicReference<>(Optional.empty());
        Moves observer = new Moves((move, path) -> {
            moves.add(move);
            watching.accept(move, path);
            and.accept(move, registry.get().flatMap(r -> r.snapshot().find(move.adapter())).flatMap(Adapter::inForce).map(PolicyStamp::version).orElse(0L));
        });
        InstantSource clock = InstantSource.system();
        try (RunRecord record = RunRecord.in(directory.resolveSibling("record"), clock, List.of());
                TrainingRun run = TrainingRun.open(read(file()), record, TrainingRun.Stop.WHEN_ALL_ENDED, clock, observer);
                RegistryView.Subscription _ = run.registry().onChange(observer::flipped)) {
            registry.set(Optional.of(run.registry()));
            run.run();
        }
        return moves;
    }

    /** True if all of it has ended, as far as the store says. */
    boolean isOver() {
        try (Store store = Stores.open(store().toString())) {
            return store.lastOrdinal() > 0 && store.live().isEmpty();
        }
    }

    static RunConfig read(Path file) {
        return RunConfigReader.read(file, new RunConfigReader.Overrides(OptionalLong.empty(), OptionalInt.empty(), Optional.empty(),
                Optional.of(file.resolveSibling("out"))));
    }
}
