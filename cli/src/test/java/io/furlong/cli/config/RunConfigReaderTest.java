package io.furlong.cli.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.furlong.cli.config.RunConfigReader.Overrides;
import io.furlong.control.config.ConfigErrors;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunConfigReaderTest {
    @TempDir
    Path dir;

    @BeforeEach
    void aModelAndAnAdapter() throws Exception {
        Files.writeString(Files.createDirectories(dir.resolve("model")).resolve("config.json"), "{}");
        Files.writeString(Files.createDirectories(dir.resolve("adapters")).resolve("gsm8k.yaml"), "data: gsm8k.jsonl\nrm_type: math\n");
    }

    private RunConfig read(String yaml) throws Exception {
        return RunConfigReader.read(Files.writeString(dir.resolve("run.yaml"), yaml), Overrides.NONE);
    }

    private List<String> mistakes(String yaml) throws Exception {
        Files.writeString(dir.resolve("run.yaml"), yaml);
        ConfigErrors e = catchThrowableOfType(ConfigErrors.class, () -> RunConfigReader.read(dir.resolve("run.yaml"), Overrides.NONE));
        assertThat(e).as("reading it must fail").isNotNull();
        return e.lines().stream().map(line -> line.replace(dir + "/", "")).toList();
    }

    @Test
    void everyKeyReachesItsField() throws Exception {
        RunConfig run = read("""
                model: model
                seed: 7
                engine: {url: "http://127.0.0.1:30000", routing: router, publish: slot, adapter_dir: /shared, sglang_server_concurrency: 100, manage_workers: ["http://e1:30001"]}
                lora: {max_adapters: 3, max_rank: 16}
                rollout: {global_batch_size: 64, max_coalesce_wait: 200ms, empty_batch_timeout: 5s, max_retries: 1}
                store: jdbc:postgresql://localhost/furlong
                runs: out
                custom_rewards: [my.Reward]
                api: {host: 0.0.0.0, port: 9000, roots: [/data, tenants]}
                defaults: {rank: 4, sampling: {max_new_tokens: 9}}
                adapters:
                  gsm8k: adapters/gsm8k.yaml
                  here: {data: here.jsonl, rm_type: exact_match, rank: 2}
                """);
        assertThat(run.model()).isEqualTo(dir.resolve("model"));
        assertThat(run.seed()).isEqualTo(7);
        assertThat(run.repeatability()).isEqualTo(RunConfig.Repeatability.SEEDED);
        assertThat(run.engine()).isEqualTo(new EngineConfig.Fleet(URI.create("http://127.0.0.1:30000"), EngineConfig.Fleet.Routing.ROUTER,
                List.of(URI.create("http://e1:30001")), EngineConfig.Publish.SLOT, Path.of("/shared"), 100));
        assertThat(run.lora()).isEqualTo(new RunConfig.Lora(3, 16));
        assertThat(run.rollout()).isEqualTo(new RunConfig.Rollout(64, Duration.ofMillis(200), Duration.ofSeconds(5), 1));
        assertThat(run.store()).isEqualTo("jdbc:postgresql://localhost/furlong");
        assertThat(run.runs()).isEqualTo(dir.resolve("out"));
        assertThat(run.customRewards()).containsExactly("my.Reward");
        assertThat(run.api()).isEqualTo(new ApiConfig("0.0.0.0", 9000, List.of(Path.of("/data"), dir.resolve("tenants"))));
        assertThat(run.adapters().keySet()).containsExactly("gsm8k", "here");
        assertThat(run.adapters().get("gsm8k").lora().rank()).isEqualTo(4);
        assertThat(run.adapters().get("gsm8k").data().path()).as("from the adapter's own file").isEqualTo(dir.resolve("adapters/gsm8k.jsonl"));
        assertThat(run.adapters().get("here").lora().rank()).isEqualTo(2);
        assertThat(run.adapters().get("here").sampling().maxNewTokens()).isEqualTo(9);
        assertThat(run.adapters().get("here").save()).isEqualTo(dir.resolve("out/adapters/here"));
    }

    @Test
    void aModelAloneIsAServiceOnTheEmbeddedEngine() throws Exception {
        RunConfig run = read("model: model\ndeterministic: true\n");
        assertThat(run.engine()).isEqualTo(EngineConfig.Embedded.DEFAULT);
        assertThat(run.repeatability()).isEqualTo(RunConfig.Repeatability.DETERMINISTIC);
        assertThat(run.store()).isEqualTo(dir.resolve("runs/furlong.db").toString());
        assertThat(run.api()).isEqualTo(new ApiConfig("127.0.0.1", 8068, List.of(dir)));
        assertThat(run.adapters()).isEmpty();
    }

    @Test
    void theCommandLineGoesOverTheFile() throws Exception {
        Path file = Files.writeString(dir.resolve("run.yaml"), "model: model\nseed: 7\nstore: other.db\nadapters: {gsm8k: adapters/gsm8k.yaml}\n");
        RunConfig run = RunConfigReader.read(file, new Overrides(OptionalLong.of(3), OptionalInt.of(6), Optional.of("memory"), Optional.of(dir.resolve("r1"))));
        assertThat(run.store()).isEqualTo("memory");
        assertThat(run.adapters().get("gsm8k").stop().numStep()).hasValue(6);
        assertThat(run.seed()).isEqualTo(3);
        assertThat(run.adapters().get("gsm8k").save()).isEqualTo(dir.resolve("r1/gsm8k"));
    }

    @ParameterizedTest(name = "{1}")
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            model: nowhere                               | run.yaml:2: model: is given twice
            seed: one                                    | run.yaml:2: seed: got 'one', must be an integer
            sede: 1                                      | run.yaml:2: sede: unknown key, did you mean 'seed'?
            deterministic: 1                             | run.yaml:2: deterministic: got 1, must be true or false
            engine: {routing: direct}                    | run.yaml:2: engine.routing: needs engine.url; the embedded engine has no use for it
            engine: {url: "localhost:30000", adapter_dir: a} | run.yaml:2: engine.url: got 'localhost:30000', must be an http:// or https:// URL with a host
            engine: {url: "http://h:1"}                  | run.yaml:2: engine.adapter_dir: is missing, must be a directory that every engine sees under the same path
            engine: {url: "http://h:1", adapter_dir: a, routing: direct, manage_workers: "http://e:1"} | run.yaml:2: engine.manage_workers: needs routing: router, whose workers they become
            engine: {url: "http://h:1", adapter_dir: a, manage_workers: [e1]} | run.yaml:2: engine.manage_workers: must be a list of http:// or https:// URLs of engines
            engine: {publish: slots}                     | run.yaml:2: engine.publish: got 'slots', must be versioned or slot
            engine: {sglang_server_concurrency: 0}       | run.yaml:2: engine.sglang_server_concurrency: got 0, must be ≥ 1
            lora: {max_adapters: 0}                      | run.yaml:2: lora.max_adapters: got 0, must be ≥ 1
            rollout: {empty_batch_timeout: 0s}           | run.yaml:2: rollout.empty_batch_timeout: got '0ms', must be above 0
            store: "jdbc:mysql:x"                        | run.yaml:2: store: got 'jdbc:mysql:x', must be a file, memory, or a jdbc:postgresql: URL
            api: {port: 70000}                           | run.yaml:2: api.port: got 70000, must be from 0 to 65535
            defaults: 3                                  | run.yaml:2: defaults: got 3, must be a mapping
            defaults: {rnak: 3}                          | run.yaml:2: rnak: unknown key, did you mean 'rank'?
            adapters: {a: none.yaml}                     | none.yaml: there is no such file
            adapters: {a: 3}                             | run.yaml:2: adapters.a: got 3, must be a path
            adapters: {a: }                              | run.yaml:2: adapters.a: is empty, must be the path of an adapter.yaml, or its keys
            adapters: {a: {data: d, rm_type: m, rank: 0}} | run.yaml:2: rank: got 0, must be an integer ≥ 1
            temperature: 1                               | run.yaml:2: temperature: unknown key, known here are adapters, api, custom_rewards, defaults, deterministic, engine, lora, model, rollout, runs, seed, store
            """)
    void aMistakeIsOneLineWithFileLineAndKey(String line, String message) throws Exception {
        assertThat(mistakes("model: model\n" + line + "\n")).containsExactly(message);
    }

    @Test
    void mistakesOfAllFilesAreFoundAtOnce() throws Exception {
        Files.writeString(dir.resolve("adapters/gsm8k.yaml"), "data: gsm8k.jsonl\nrm_type: math\nrank: -1\n");
        assertThat(mistakes("model: nowhere\nengine: {url: 'http://h', adapter_dir: a}\ndeterministic: true\nadapters: {gsm8k: adapters/gsm8k.yaml}\n"))
                .containsExactlyInAnyOrder("run.yaml:1: model: got 'nowhere', must be a Hugging Face model directory (there is no config.json in it)",
                        "run.yaml:3: deterministic: needs the embedded engine: leave out engine.url, or set it to false",
                        "adapters/gsm8k.yaml:3: rank: got -1, must be an integer ≥ 1");
    }
}
