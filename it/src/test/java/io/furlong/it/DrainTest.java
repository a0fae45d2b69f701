package io.furlong.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.report.RunSummary.AdapterResult;
import io.furlong.cli.run.TrainingRun;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.Registration;
import io.furlong.control.Retirement;
import io.furlong.control.VersionRow;
import io.furlong.core.AdapterState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A whole run, engine and trainer included, that someone ends gently in the middle of a step. */
@Timeout(240)
class DrainTest {
    private static final Path HOME = Path.of("..").toAbsolutePath().normalize();

    @TempDir
    Path directory;

    @Test
    void theStepThatIsUnderWayIsCommittedPublishedAndExportedBeforeTheAdapterEnds() throws Exception {
        Path yaml = Files.writeString(directory.resolve("run.yaml"), """
                seed: 1
                model: %s
                runs: %s
                store: %s/furlong.db
                lora: {max_adapters: 1, max_rank: 8}
                adapters:
                  sort: {data: %s, num_step: 1000, rollout_batch_size: 4, n_samples_per_prompt: 2, max_staleness: 1, rm_type: exact_match, save: %s/out,
                    input_key: text, label_key: label, sampling: {temperature: 1.0, max_new_tokens: 8}}
                """.formatted(HOME.resolve("models/furlong-tiny"), directory, directory, HOME.resolve("examples/quickstart/sort/train.jsonl"), directory));
        try (RunRecord record = RunRecord.in(directory.resolve("record"), InstantSource.system(), List.of());
                TrainingRun run = TrainingRun.open(RunConfigReader.read(yaml, RunConfigReader.Overrides.NONE), record, TrainingRun.Stop.WHEN_ALL_ENDED,
                        InstantSource.system());
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            AdapterRegistry registry = run.registry();
            CountDownLatch two = new CountDownLatch(1);
            registry.onChange(s -> s.find("sort").filter(a -> a.step() >= 2 && a.stepInForce() >= 2).ifPresent(a -> two.countDown()));
            Future<Registration> asked = threads.submit(() -> {
                assertThat(two.await(200, TimeUnit.SECONDS)).isTrue();
                return registry.retire("sort", Retirement.Mode.DRAIN, Retirement.Cause.USER, "enough");
            });
            AdapterResult ended = run.run().adapters().getFirst();

            assertThat(ended.state()).as(ended.reason()).isEqualTo(AdapterState.COMPLETED);
            assertThat((long) ended.steps()).as("one step more").isEqualTo(asked.get().progress().step() + 1);
            assertThat(ended.groups().trained()).isEqualTo(ended.steps() * 4L);
            assertThat(ended.groups().open()).isZero();
            List<VersionRow> versions = registry.store().versions(asked.get().id());
            assertThat(versions.getLast().state()).as("published").isEqualTo(VersionRow.State.IN_FORCE);
            assertThat(versions.getLast().commit().stamp().step()).isEqualTo(ended.steps());
            Path weights = versions.getLast().commit().checkpoint().resolve("adapter_model.safetensors");
            assertThat(directory.resolve("out/adapter_model.safetensors")).hasSameBinaryContentAs(weights);
        }
    }
}
