package io.furlong.control.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.FilterConfig;
import io.furlong.core.InitFrom;
import io.furlong.core.RegistrationId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AdapterConfigReaderTest {
    private static final String FULL = """
            data: rows.jsonl
            input_key: question
            label_key: answer
            metadata_key: extra
            apply_chat_template: true
            shuffle: false
            max_prompt_tokens: 512
            rm_type: math
            reward_timeout: 500ms
            rank: 16
            alpha: 24.5
            rollout_batch_size: 32
            n_samples_per_prompt: 4
            num_step: 100
            num_epoch: 3
            save: out/gsm8k
            metadata: {difficulty: hard, weights: [1, 2.5], nested: {deep: true}}
            target_modules: [q_proj, v_proj]
            sampling: {temperature: 0.7, top_p: 0.9, top_k: 40, min_p: 0.05, frequency_penalty: 0.1, presence_penalty: 0.2,
                       repetition_penalty: 1.1, max_new_tokens: 128, min_new_tokens: 2, stop: ["\\n"], stop_token_ids: [2, 3], ignore_eos: true}
            loss: {type: grpo, clip_low: 0.1, clip_high: 0.3, kl: 1e-3}
            optimizer: {type: adamw, lr: 1e-4, schedule: cosine, warmup_steps: 10, beta1: 0.8, beta2: 0.99, eps: 1e-6,
                        weight_decay: 0, max_grad_norm: 0.5}
            max_staleness: 2
            stragglers: drop
            weight: 2
            filters: [zero_variance, {type: length, limit_per_step: 7}]
            eval: {data: held-out.jsonl, every: 10, max_rows: 300, samples: 4}
            init_from: {adapter: math, registration: 0123456789abcdef0123456789abcdef, version: 7}
            stop: {reward_target: 0.95, target_evals: 3, wall_clock: 2h, token_budget: 10000000000}
            """;

    @TempDir
    Path dir;

    private Path file(String yaml) throws Exception {
        return Files.writeString(dir.resolve("a.yaml"), yaml);
    }

    private AdapterConfig read(String yaml) throws Exception {
        return AdapterConfigReader.plain(dir.resolve("exports")).readFile("gsm8k", file(yaml));
    }

    /** The lines of the error, without the directory in front. */
    private List<String> mistakes(String yaml) throws Exception {
        Path file = file(yaml);
        ConfigErrors e = catchThrowableOfType(ConfigErrors.class,
                () -> AdapterConfigReader.plain(dir).readFile("gsm8k", file));
        assertThat(e).as("reading it must fail").isNotNull();
        return e.lines().stream().map(line -> line.replace(dir + "/", "")).toList();
    }

    @Test
    void everyKeyReachesItsField() throws Exception {
        AdapterConfig c = read(FULL);
        assertThat(c.data()).isEqualTo(new DataConfig(dir.resolve("rows.jsonl"), "question", java.util.Optional.of("answer"),
                java.util.Optional.of("extra"), DataConfig.Template.CHAT, DataConfig.Order.AS_WRITTEN, java.util.OptionalInt.of(512)));
        assertThat(c.reward().name()).isEqualTo("math");
        assertThat(c.reward().timeout()).isEqualTo(Duration.ofMillis(500));
        assertThat(c.lora().rank()).isEqualTo(16);
        assertThat(c.lora().alpha()).isEqualTo(24.5);
        assertThat(c.lora().targets()).containsExactly("q_proj", "v_proj");
        assertThat(c.rolloutBatchSize()).isEqualTo(32);
        assertThat(c.nSamplesPerPrompt()).isEqualTo(4);
        assertThat(c.stop().numStep()).hasValue(100);
        assertThat(c.stop().numEpoch()).hasValue(3);
        assertThat(c.stop().rewardTarget()).hasValue(0.95);
        assertThat(c.stop().wallClock()).contains(Duration.ofHours(2));
        assertThat(c.stop().tokenBudget()).hasValue(10_000_000_000L);
        assertThat(c.sampling().temperature()).isEqualTo(0.7);
        assertThat(c.sampling().stop()).containsExactly("\n");
        assertThat(c.sampling().stopTokenIds()).containsExactly(2, 3);
        assertThat(c.loss().kl()).isEqualTo(1e-3);
        assertThat(c.optimizer().lr()).isEqualTo(1e-4);
        assertThat(c.maxStaleness()).isEqualTo(2);
        assertThat(c.stragglers()).isEqualTo(AdapterConfig.Stragglers.DROP);
        assertThat(c.filters()).containsExactly(new FilterConfig("zero_variance", 32), new FilterConfig("length", 7));
        assertThat(c.eval().orElseThrow().data()).isEqualTo(dir.resolve("held-out.jsonl"));
        assertThat(c.initFrom()).contains(new InitFrom.Version("math", new RegistrationId("0123456789abcdef0123456789abcdef"), 7));
        assertThat(c.save()).isEqualTo(dir.resolve("out/gsm8k"));
        assertThat(c.metadata()).isEqualTo(Map.of("difficulty", "hard", "weights", List.of(1L, 2.5), "nested", Map.of("deep", true)));
    }

    @Test
    void whatIsWrittenAsJsonReadsBackEqual() throws Exception {
        for (String yaml : List.of(FULL, "{data: d.jsonl, rm_type: math}", "{data: d.jsonl, custom_rm_path: x.Y, init_from: resume}",
                "{data: d.jsonl, rm_type: math, init_from: {peft: old}, stop: {wall_clock: 90s}}")) {
            AdapterConfig c = read(yaml);
            AdapterConfig again = AdapterConfigReader.plain(Path.of("elsewhere"))
                    .readBody("gsm8k", new ObjectMapper().readTree(AdapterConfigJson.write(c).toString()), Path.of("/nowhere"));
            assertThat(again).isEqualTo(c);
        }
    }

    @Test
    void twoKeysAreEnough() throws Exception {
        AdapterConfig c = read("data: rows.jsonl\nrm_type: exact_match\n");
        assertThat(c.lora().rank()).isEqualTo(8);
        assertThat(c.lora().alpha()).isEqualTo(16);
        assertThat(c.lora().targets()).containsExactly("all-linear");
        assertThat(c.save()).isEqualTo(dir.resolve("exports/gsm8k"));
        assertThat(c.maxStaleness()).isEqualTo(1);
        assertThat(c.eval()).isEmpty();
    }

    @ParameterizedTest(name = "{1}")
    @CsvSource(delimiter = '|', textBlock = """
            rollout_bacth_size: 4          | a.yaml:3: rollout_bacth_size: unknown key, did you mean 'rollout_batch_size'?
            temperature: 1.0               | a.yaml:3: temperature: unknown key, did you mean 'sampling.temperature'?
            sampling: {temprature: 1.0}    | a.yaml:3: sampling.temprature: unknown key, did you mean 'sampling.temperature'?
            rank: '"8"'                    | a.yaml:3: rank: got '"8"', must be an integer
            rank: "8"                      | a.yaml:3: rank: got '8', must be an integer
            rank: 8.0                      | a.yaml:3: rank: got 8.0, must be an integer
            rank: true                     | a.yaml:3: rank: got true, must be an integer
            rank: 3000000000               | a.yaml:3: rank: got 3000000000, must be an integer from -2147483648 to 2147483647
            rank: 99999999999999999999     | a.yaml:3: rank: got 99999999999999999999, must be an integer from -2147483648 to 2147483647
            rank: 0                        | a.yaml:3: rank: got 0, must be an integer ≥ 1
            alpha: abc                     | a.yaml:3: alpha: got 'abc', must be a number
            alpha: .nan                    | a.yaml:3: alpha: got NaN, must be a finite number above 0
            num_step: 0                    | a.yaml:3: num_step: got 0, must be ≥ 1
            sampling: 7                    | a.yaml:3: sampling: got 7, must be a mapping
            sampling: {temperature: -1}    | a.yaml:3: sampling.temperature: got -1.0, must be a finite number ≥ 0
            sampling: {stop: [1]}          | a.yaml:3: sampling.stop: got 1, must be text, or a list of texts
            sampling: {stop_token_ids: [x]} | a.yaml:3: sampling.stop_token_ids: got 'x', must be an integer, or a list of integers
            sampling: {ignore_eos: maybe}  | a.yaml:3: sampling.ignore_eos: got 'maybe', must be true or false
            stragglers: skip               | a.yaml:3: stragglers: got 'skip', must be wait or drop
            reward_timeout: 30             | a.yaml:3: reward_timeout: got 30, must be a duration such as 500ms, 30s, 5m or 2h
            reward_timeout: soon           | a.yaml:3: reward_timeout: got 'soon', must be a duration such as 500ms, 30s, 5m or 2h
            custom_rm_path: x.Y            | a.yaml:3: custom_rm_path: is given beside rm_type, must be one of the two
            metadata: [1]                  | a.yaml:3: metadata: got a list, must be a mapping
            filters: [3]                   | a.yaml:3: filters: got 3, must be a mapping, or the type alone
            filters: [{limit_per_step: 3}] | a.yaml:3: filters.type: is missing, must be the name of a filter
            eval: {every: 5}               | a.yaml:3: eval.data: is missing, must be a dataset file of held-out rows
            init_from: scratch             | a.yaml:3: init_from: got 'scratch', must be resume, {peft: directory} or {adapter: name, registration: id, version: number}
            init_from: {adapter: x}        | a.yaml:3: init_from: must be resume, {peft: directory} or {adapter: name, registration: id, version: number}
            init_from: {registration: xyz} | a.yaml:3: init_from.registration: got 'xyz', must be 32 lower-case hex digits
            stop: {reward_target: 0.9}     | a.yaml:3: stop.reward_target: needs an eval section, whose accuracy it is held against
            rm_type: exact                 | a.yaml:3: rm_type: is given twice
            loss: {kl: -0.1}               | a.yaml:3: loss.kl: got -0.1, must be a finite number ≥ 0
            optimizer: {lr: 0}             | a.yaml:3: optimizer.lr: got 0.0, must be a finite number above 0
            save: ''                       | a.yaml:3: save: got '', must be a path
            """, quoteCharacter = '`')
    void aMistakeIsOneLineWithFileLineKeyAndWhatWouldBeRight(String line, String message) throws Exception {
        assertThat(mistakes("data: rows.jsonl\nrm_type: math\n" + line + "\n")).containsExactly(message);
    }

    @Test
    void everyMistakeOfAFileIsFoundAtOnce() throws Exception {
        assertThat(mistakes("rank: x\nsampling:\n  top_p: 2\n  topp: 1\nnum_steps: 5\n")).containsExactlyInAnyOrder(
                "a.yaml: data: is missing, must be a dataset file",
                "a.yaml: rm_type: is missing, must be the name of a reward (or custom_rm_path a reward class)",
                "a.yaml:1: rank: got 'x', must be an integer",
                "a.yaml:3: sampling.top_p: got 2.0, must be above 0 and at most 1",
                "a.yaml:4: sampling.topp: unknown key, did you mean 'sampling.top_p'?",
                "a.yaml:5: num_steps: unknown key, did you mean 'num_step'?");
    }

    @Test
    void aFileThatIsNoMappingIsNamed() throws Exception {
        assertThat(mistakes("- a\n- b\n")).containsExactly("a.yaml: got a list, must be a mapping of keys to values");
        assertThat(mistakes("")).containsExactly("a.yaml: is empty");
        assertThat(mistakes("data: [1, 2\nrank: 8\n")).singleElement().asString().startsWith("a.yaml:2: not valid YAML: ");
    }

    @Test
    void aFileThatCannotBeReadIsNamed() {
        AdapterConfigReader reader = AdapterConfigReader.plain(dir);
        assertThat(catchThrowableOfType(ConfigErrors.class, () -> reader.readFile("x", dir.resolve("none.yaml"))))
                .hasMessage(dir + "/none.yaml: there is no such file");
        assertThat(catchThrowableOfType(ConfigErrors.class, () -> reader.readFile("x", dir)))
                .hasMessage(dir + ": is a directory, must be a YAML file");
    }

    @Test
    void defaultsLieUnderTheAdaptersOwnKeys() throws Exception {
        ConfigNode.Mapping defaults = YamlFile.parse("""
                rank: 4
                rm_type: math
                num_step: 50
                sampling: {temperature: 0.9, max_new_tokens: 12}
                """, new Source.File("run.yaml", dir));
        AdapterConfigReader reader = new AdapterConfigReader(defaults, AllowedRoots.ANY, dir);
        AdapterConfig c = reader.readFile("a", file("{data: d.jsonl, custom_rm_path: x.Y, num_epoch: 2, sampling: {temperature: 0.5}}"));
        assertThat(c.lora().rank()).isEqualTo(4);
        assertThat(c.sampling().temperature()).isEqualTo(0.5);
        assertThat(c.sampling().maxNewTokens()).isEqualTo(12);
        assertThat(c.reward().rmType()).isEmpty();
        assertThat(c.reward().customRmPath()).contains("x.Y");
        assertThat(c.stop().numStep()).isEmpty();
        assertThat(c.stop().numEpoch()).hasValue(2);
        assertThat(reader.readFile("a", file("{data: d.jsonl, rank: }")).lora().rank()).as("nothing takes the default back").isEqualTo(8);
    }

    @Test
    void aMistakeInTheDefaultsIsFoundBeforeAnyAdapter() {
        ConfigNode.Mapping defaults = YamlFile.parse("sampling:\n  temperature: hot\nrnak: 4\n", new Source.File("run.yaml", dir));
        assertThat(catchThrowableOfType(ConfigErrors.class, () -> new AdapterConfigReader(defaults, AllowedRoots.ANY, dir)).lines())
                .containsExactly("run.yaml:2: sampling.temperature: got 'hot', must be a number",
                        "run.yaml:3: rnak: unknown key, did you mean 'rank'?");
    }

    @Test
    void aRequestIsNamedByItsKeysAlone() throws Exception {
        var body = new ObjectMapper().readTree("""
                {"data": "d.jsonl", "rm_type": "math", "sampling": {"temperature": "hot"}, "rank": 8.0, "loras": 1}""");
        assertThat(catchThrowableOfType(ConfigErrors.class, () -> AdapterConfigReader.plain(dir).readBody("a", body, dir)).lines())
                .containsExactlyInAnyOrder("config.rank: got 8.0, must be an integer",
                        "config.sampling.temperature: got 'hot', must be a number",
                        "config.loras: unknown key, did you mean 'loss'?");
        assertThat(catchThrowableOfType(ConfigErrors.class,
                () -> AdapterConfigReader.plain(dir).readBody("a", new ObjectMapper().readTree("[]"), dir)))
                .hasMessage("config: got a list, must be an object");
    }

    @Test
    void pathsStayInsideTheAllowedRootsAlsoThroughLinks() throws Exception {
        Path inside = Files.createDirectories(dir.resolve("tenant"));
        Path outside = Files.createDirectories(dir.resolve("other"));
        Files.createSymbolicLink(inside.resolve("link"), outside);
        AdapterConfigReader reader = new AdapterConfigReader(YamlFile.parse("{rank: 4}", new Source.File("run.yaml", dir)),
                AllowedRoots.of(List.of(inside)), inside);
        ObjectMapper json = new ObjectMapper();
        assertThat(reader.readBody("a", json.readTree("{\"data\": \"d.jsonl\", \"rm_type\": \"m\"}"), inside).data().path())
                .isEqualTo(inside.resolve("d.jsonl"));
        for (String escape : List.of("../other/d.jsonl", "/etc/passwd", "link/d.jsonl")) {
            var body = json.createObjectNode().put("data", escape).put("rm_type", "m");
            assertThat(catchThrowableOfType(ConfigErrors.class, () -> reader.readBody("a", body, inside)))
                    .hasMessage("config.data: got '" + escape + "', must be a path inside " + inside.toRealPath());
        }
    }
}
