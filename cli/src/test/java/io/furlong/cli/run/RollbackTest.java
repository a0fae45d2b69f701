package io.furlong.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.report.RunRecord;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.Registration;
import io.furlong.control.VersionRow;
import io.furlong.core.Adapter;
import io.furlong.core.AdapterState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(240)
class RollbackTest {
    @TempDir
    private Path dir;

    /** A whole run, engine and trainer included, taken back from step 3 to step 2: old weights, new version, on to the end. */
    @Test
    void an_adapter_goes_back_to_a_committed_version_and_on_from_there() throws Exception {
        Path examples = Path.of("..", "examples", "quickstart").toAbsolutePath().normalize();
        Path adapter = Files.writeString(dir.resolve("addition.yaml"), """
                data: %s/addition/train.jsonl
                input_key: text
                label_key: label
                rm_type: exact_match
                num_step: 5
                rollout_batch_size: 2
                n_samples_per_prompt: 2
                save: %s/out
                sampling: {temperature: 1.0, max_new_tokens: 8}
                """.formatted(examples, dir));
        Path yaml = Files.writeString(dir.resolve("run.yaml"), """
                model: %s
                runs: %s
                store: %s/furlong.db
                seed: 1
                lora: {max_adapters: 1, max_rank: 8}
                adapters:
                  addition: %s
                """.formatted(examples.resolve("../../models/furlong-tiny").normalize(), dir, dir, adapter));
        try (RunRecord record = RunRecord.in(dir, InstantSource.system(), List.of());
                TrainingRun run = TrainingRun.open(RunConfigReader.read(yaml, RunConfigReader.Overrides.NONE), record, TrainingRun.Stop.WHEN_ALL_ENDED,
                        InstantSource.system())) {
            AdapterRegistry registry = run.registry();
            CountDownLatch three = new CountDownLatch(1);
            registry.onChange(s -> s.find("addition").filter(a -> a.step() >= 3).ifPresent(a -> three.countDown()));
            Thread asks = Thread.ofVirtual().start(() -> {
                try {
                    if (three.await(200, TimeUnit.SECONDS)) {
                        registry.rollback("addition", versionOf(registry, 2));
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            run.run();
            asks.join();
            Registration ended = registry.find("addition").orElseThrow();
            assertThat(ended.state()).as(ended.reason()).isEqualTo(AdapterState.COMPLETED);
            List<VersionRow> versions = registry.store().versions(ended.id());
            List<Long> steps = versions.stream().map(v -> v.commit().stamp().step()).toList();
            assertThat(steps).startsWith(0L, 1L, 2L, 3L).endsWith(2L, 3L, 4L, 5L).hasSizeGreaterThan(7);
            int back = steps.lastIndexOf(2L);
            assertThat(versions.get(back).commit().stamp().digest()).isEqualTo(versions.get(2).commit().stamp().digest());
            assertThat(versions.stream().map(v -> v.commit().stamp().version())).isSorted().doesNotHaveDuplicates();
            assertThat(versions.getLast().commit().ledger().trained()).isLessThanOrEqualTo(versions.size() * 2L);
        }
    }

    private static long versionOf(AdapterRegistry registry, long step) {
        Adapter a = registry.snapshot().find("addition").orElseThrow();
        return registry.store().versions(a.registration()).stream().map(v -> v.commit().stamp()).filter(s -> s.step() == step).findFirst().orElseThrow().version();
    }
}
