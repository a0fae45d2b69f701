package io.furlong.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.report.RunSummary;
import io.furlong.cli.report.RunSummary.AdapterResult;
import io.furlong.cli.run.TrainingRun;
import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The main job: adapters that learn at the same time on one base, while the embedded engine generates over HTTP. */
class MainJobTest {
    private static final Path HOME = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    Path directory;

    @Test
    void adaptersThatTrainTogetherGetBetterAndEveryGroupIsAccountedFor() throws Exception {
        RunSummary summary = train("together", "seed: 1\n", "num_step: 6, rollout_batch_size: 16, n_samples_per_prompt: 8, max_staleness: 1",
                "eval: {data: %s, max_rows: 60, samples: 0}", List.of("sort", "upper"));

        assertThat(summary.adapters()).hasSize(2).allSatisfy(a -> {
            assertThat(a.state()).as(a.reason()).isEqualTo(AdapterState.COMPLETED);
            assertThat(a.steps()).isEqualTo(6);
            assertThat(a.maxStalenessSeen()).isBetween(0, 1);
            assertThat(a.logprobGapMax()).isPositive().isLessThan(5e-5);
            assertThat(a.groups().open()).isZero();
            assertThat(a.groups().trained()).isEqualTo(6 * 16);
            assertThat(a.groups().stale()).isZero();
            assertThat(a.greedy().before().orElseThrow()).isLessThanOrEqualTo(0.5);
            assertThat(a.greedy().after().orElseThrow()).isGreaterThan(a.greedy().before().orElseThrow());
            assertThat(a.exported().orElseThrow()).isDirectoryContaining("glob:**adapter_config.json").isDirectoryContaining("glob:**adapter_model.safetensors");
        });
        assertThat(summary.tokensTrained()).isPositive().isLessThanOrEqualTo(summary.tokensGenerated());
    }

    @Test
    void inSlotModeWeightsAreReplacedUnderRunningSequencesAndEveryTokenIsScoredUnderThoseThatMadeIt() throws Exception {
        RunSummary summary = train("slots", "seed: 1\nengine: {publish: slot}\nlora: {max_adapters: 2}\n",
                "num_step: 8, rollout_batch_size: 8, n_samples_per_prompt: 8, max_staleness: 2", "", List.of("sort", "upper"));

        assertThat(summary.adapters()).hasSize(2).allSatisfy(a -> {
            assertThat(a.state()).as(a.reason()).isEqualTo(AdapterState.COMPLETED);
            assertThat(a.steps()).isEqualTo(8);
            assertThat(a.maxStalenessSeen()).isBetween(0, 2);
            assertThat(a.logprobGapMax()).isPositive().isLessThan(5e-5);
            assertThat(a.groups().open()).isZero();
            assertThat(a.groups().trained()).isEqualTo(8 * 8);
            assertThat(a.groups().stale()).isZero();
        });
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.7, 1.3})
    void trainerAndEngineAgreeAtOtherTemperatures(double temperature) throws Exception {
        String yaml = yaml("seed: 1\n", "num_step: 6, rollout_batch_size: 8, n_samples_per_prompt: 8, max_staleness: 1", "", List.of("sort", "upper"));
        RunSummary summary = run("at-" + temperature, yaml.replace("temperature: 1.0", "temperature: " + temperature));

        assertThat(summary.adapters()).hasSize(2).allSatisfy(a -> {
            assertThat(a.state()).as(a.reason()).isEqualTo(AdapterState.COMPLETED);
            assertThat(a.logprobGapMax()).isPositive().isLessThan(5e-5);
        });
    }

    @Test
    void inTheDeterministicSettingEachAdapterEndsAsItWouldHaveAloneBitForBit() throws Exception {
        String setting = "seed: 3\ndeterministic: true\n";
        String shape = "num_step: 2, rollout_batch_size: 4, n_samples_per_prompt: 4";
        Map<String, byte[]> together = weights(train("both", setting, shape, "", List.of("sort", "upper")));
        Map<String, byte[]> alone = new TreeMap<>();
        for (String name : List.of("sort", "upper")) {
            alone.putAll(weights(train("alone-" + name, setting, shape, "", List.of(name))));
        }

        assertThat(together).containsOnlyKeys("sort", "upper");
        assertThat(together.get("sort")).isEqualTo(alone.get("sort")).isNotEqualTo(together.get("upper"));
        assertThat(together.get("upper")).isEqualTo(alone.get("upper"));
    }

    @Test
    void anAdapterWhoseWeightsRunAwayFailsWithItsReasonAndItsNeighbourEndsAsItWouldHaveAlone() throws Exception {
        String setting = "seed: 3\ndeterministic: true\n";
        String shape = "num_step: 2, rollout_batch_size: 4, n_samples_per_prompt: 4";
        byte[] alone = weights(train("alone", setting, shape, "", List.of("upper"))).get("upper");
        RunSummary summary = run("wild", yaml(setting, shape, "", List.of("upper")) + "  wild: {data: " + HOME.resolve("examples/quickstart/sort/train.jsonl")
                + ", num_step: 40, optimizer: {lr: 1.0e+30}}\n");

        AdapterResult wild = summary.adapters().stream().filter(a -> a.name().equals("wild")).findFirst().orElseThrow();
        assertThat(wild.state()).isEqualTo(AdapterState.FAILED);
        assertThat(wild.reason()).isNotBlank();
        assertThat(wild.groups().open()).isZero();
        assertThat(weights(summary).get("upper")).isEqualTo(alone);
        assertThat(summary.succeeded()).isFalse();
    }

    @Test
    void aRunThatIsStoppedLeavesItsAdaptersAsFarAsTrainedAndNothingOpen() throws Exception {
        String yaml = yaml("seed: 1\n", "num_step: 1000, rollout_batch_size: 2, n_samples_per_prompt: 2, max_staleness: 1", "", List.of("upper"));
        Path file = Files.writeString(directory.resolve("stopped.yaml"), yaml);
        Path out = directory.resolve("stopped");
        try (RunRecord record = RunRecord.in(out, InstantSource.system(), List.of());
                TrainingRun run = TrainingRun.open(RunConfigReader.read(file, new RunConfigReader.Overrides(OptionalLong.empty(), OptionalInt.empty(), Optional.empty(), Optional.of(out))), record,
                        TrainingRun.Stop.WHEN_ALL_ENDED, InstantSource.system())) {
            run.registry().onChange(s -> s.find("upper").filter(a -> a.step() >= 2).ifPresent(a -> run.stop()));
            AdapterResult upper = run.run().adapters().getFirst();

            LedgerSnapshot groups = upper.groups();
            assertThat(upper.steps()).isBetween(2L, 999L);
            assertThat(groups.open()).isZero();
            assertThat(groups.trained()).isEqualTo(2 * upper.steps());
            assertThat(upper.exported().orElseThrow()).isDirectoryContaining("glob:**adapter_model.safetensors");
        }
    }

    private RunSummary train(String name, String head, String shape, String eval, List<String> adapters) throws Exception {
        return run(name, yaml(head, shape, eval, adapters));
    }

    private RunSummary run(String name, String yaml) throws Exception {
        Path file = Files.writeString(directory.resolve(name + ".yaml"), yaml);
        Path out = directory.resolve(name);
        try (RunRecord record = RunRecord.in(out, InstantSource.system(), List.of());
                TrainingRun run = TrainingRun.open(RunConfigReader.read(file, new RunConfigReader.Overrides(OptionalLong.empty(), OptionalInt.empty(), Optional.empty(), Optional.of(out))), record,
                        TrainingRun.Stop.WHEN_ALL_ENDED, InstantSource.system())) {
            RunSummary summary = run.run();
            record.finish(summary);
            assertThat(record.report()).content().contains("<svg");
            return summary;
        }
    }

    private static String yaml(String head, String shape, String eval, List<String> adapters) {
        StringBuilder yaml = new StringBuilder(head + "model: " + HOME.resolve("models/furlong-tiny") + "\nstore: memory\ndefaults: {" + shape
                + ", rank: 8, alpha: 16, rm_type: exact_match, input_key: text, label_key: label, optimizer: {lr: 3.0e-3},"
                + " sampling: {temperature: 1.0, max_new_tokens: 12}}\nadapters:\n");
        for (String a : adapters) {
            Path data = HOME.resolve("examples/quickstart").resolve(a);
            yaml.append("  ").append(a).append(": {data: ").append(data.resolve("train.jsonl"));
            if (!eval.isEmpty()) {
                yaml.append(", ").append(String.format(eval, data.resolve("heldout.jsonl")));
            }
            yaml.append("}\n");
        }
        return yaml.toString();
    }

    private static Map<String, byte[]> weights(RunSummary summary) throws Exception {
        Map<String, byte[]> weights = new TreeMap<>();
        for (AdapterResult a : summary.adapters()) {
            if (a.exported().isPresent()) {
                weights.put(a.name(), Files.readAllBytes(a.exported().get().resolve("adapter_model.safetensors")));
            }
        }
        return weights;
    }
}
