package io.furlong.bench;

import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.report.RunSummary;
import io.furlong.cli.run.TrainingRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Whole runs over HTTP: n adapters trained together against the same adapters one after another, all asynchronous. Once with few sequences in
 * flight an adapter, where an engine of one tenant runs nearly empty, and once at the quickstart's shape.
 */
final class TogetherBench {
    private final Path home;
    private final int steps;
    private final int times;

    /** @param home of the installation, with {@code models} and {@code examples} */
    TogetherBench(Path home, int steps, int times) {
        this.home = home;
        this.steps = steps;
        this.times = times;
    }

    /** What one adapter has in flight. */
    private record Load(String name, int prompts, int samples, double target) {}

    List<Figure> run() throws Exception {
        List<Figure> figures = new ArrayList<>();
        for (Load load : List.of(new Load("4 in flight an adapter", 1, 2, 2.0), new Load("quickstart's shape", 16, 8, 1.0))) {
            seconds(load, names(0, 3)); // what warms up does so before anything counts
            for (int n : new int[] {1, 3, 8}) {
                List<Double> gains = new ArrayList<>();
                for (int time = 0; time < times; time++) {
                    double together = seconds(load, names(0, n));
                    double after = 0;
                    for (int i = 0; i < n; i++) {
                        after += seconds(load, names(i, i + 1));
                    }
                    gains.add(after / together);
                }
                Figure gain = Figure.of(n + " adapters together against one after another, " + load.name(), "ratio", gains);
                figures.add(n == 8 ? gain.atLeast(load.target()) : gain);
            }
        }
        return figures;
    }

    private static List<String> names(int from, int to) {
        List<String> names = new ArrayList<>();
        for (int i = from; i < to; i++) {
            names.add("a" + i);
        }
        return names;
    }

    /** Wall time of a run's loop, start of model and engine left out. */
    private double seconds(Load load, List<String> names) throws Exception {
        try (ScratchDirectory scratch = ScratchDirectory.create()) {
            Path directory = scratch.path();
            StringBuilder yaml = new StringBuilder("model: " + home.resolve("models/furlong-tiny") + "\nstore: memory\nlora: {max_rank: 8}\n"
                    + "defaults: {num_step: " + steps + ", rollout_batch_size: " + load.prompts() + ", n_samples_per_prompt: " + load.samples()
                    + ", max_staleness: 1, rank: 8, alpha: 16, rm_type: exact_match, input_key: text, label_key: label, "
                    + "optimizer: {lr: 1.0e-3}, sampling: {temperature: 1.0, max_new_tokens: 12}}\nadapters:\n");
            names.forEach(n -> yaml.append("  ").append(n).append(": {data: ").append(home.resolve("examples/quickstart/sort/train.jsonl")).append("}\n"));
            Path file = Files.writeString(directory.resolve("run.yaml"), yaml);
            RunConfigReader.Overrides own = new RunConfigReader.Overrides(OptionalLong.empty(), OptionalInt.empty(), Optional.empty(), Optional.of(directory));
            try (RunRecord record = RunRecord.in(directory, InstantSource.system(), List.of());
                    TrainingRun run = TrainingRun.open(RunConfigReader.read(file, own), record, TrainingRun.Stop.WHEN_ALL_ENDED, InstantSource.system())) {
                long start = System.nanoTime();
                RunSummary summary = run.run();
                if (!summary.succeeded()) {
                    throw new IllegalStateException("an adapter failed: " + summary.adapters());
                }
                return Repeat.seconds(start);
            }
        }
    }
}
