package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.Tokenizer;
import io.furlong.sglang.Diagnosis.Severity;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.RouterDouble;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class DoctorTest {
    private static final Doctor.Needs NEEDS = new Doctor.Needs(8, List.of("q_proj", "v_proj"), 6, Optional.of(characters(0)));

    @TempDir
    Path root;

    private static Tokenizer characters(int shift) {
        return new Tokenizer() {
            @Override
            public int[] encode(String text) {
                return text.chars().map(c -> (c + shift) % 96).toArray();
            }

            @Override
            public String decode(int[] tokenIds) {
                throw new UnsupportedOperationException();
            }

            @Override
            public String chat(List<Map<String, Object>> messages) {
                throw new UnsupportedOperationException();
            }

            @Override
            public boolean hasChatTemplate() {
                return false;
            }

            @Override
            public String fingerprint() {
                return "characters";
            }

            @Override
            public int vocabSize() {
                return 96;
            }
        };
    }

    private static Diagnosis examine(URI url, Doctor.Needs needs) throws InterruptedException {
        try (Http http = Http.open()) {
            return Doctor.examine(http, url, needs, Duration.ofSeconds(10));
        }
    }

    @Test
    void aGoodServerIsFitAndLeftAsItWas() throws Exception {
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            Diagnosis found = examine(engine.url(), NEEDS);
            assertThat(found.findings()).isEmpty();
            assertThat(found.fit()).isTrue();
            assertThat(found.plan()).isEqualTo("routing: direct, publish: versioned");
            assertThat(found.facts()).anyMatch(f -> f.contains("0.5.18")).anyMatch(f -> f.contains("places 7"));
            assertThat(engine.loaded()).isEmpty();
        }
    }

    static Stream<Arguments> problems() {
        return Stream.of(
                problem(Quirks.RELEASED, e -> e.setting("enable_lora", false), "runs without LoRA", "--enable-lora"),
                problem(Quirks.RELEASED, e -> e.setting("max_lora_rank", 4), "up to rank 4, 8 is needed", "--max-lora-rank 8"),
                problem(Quirks.RELEASED, e -> e.setting("lora_target_modules", List.of("o_proj")), "takes no adapters on [q_proj, v_proj]", "--lora-target-modules"),
                problem(Quirks.RELEASED.withPlaces(4), e -> { }, "has 3 adapter places, 6 are needed", "--max-loras-per-batch 7"),
                problem(Quirks.RELEASED, e -> e.setting("tokenizer_worker_num", 4), "4 tokenizer workers", "--tokenizer-worker-num 1"),
                problem(Quirks.RELEASED, e -> e.setting("dp_size", 2), "dp_size 2", "--enable-dp-attention"),
                problem(Quirks.RELEASED.ignoringLora(), e -> { }, "ignores lora_path", "SGLANG_RUST_SERVER"),
                problem(Quirks.RELEASED.leavingOutTemperature(), e -> { }, "without the temperature", "SGLANG_RETURN_ORIGINAL_LOGPROB"));
    }

    private static Arguments problem(Quirks quirks, Consumer<SglangDouble> change, String what, String remedy) {
        return Arguments.of(quirks, change, what, remedy);
    }

    @ParameterizedTest
    @MethodSource("problems")
    void eachProblemIsNamedWithItsRemedy(Quirks quirks, Consumer<SglangDouble> change, String what, String remedy) throws Exception {
        try (SglangDouble engine = new SglangDouble(quirks)) {
            change.accept(engine);
            Diagnosis found = examine(engine.url(), NEEDS);
            assertThat(found.fit()).isFalse();
            assertThat(found.findings()).singleElement().satisfies(f -> {
                assertThat(f.severity()).isEqualTo(Severity.PROBLEM);
                assertThat(f.what()).contains(what);
                assertThat(f.remedy()).contains(remedy);
            });
        }
    }

    @Test
    void tokenizersThatDifferAreAProblem() throws Exception {
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            Diagnosis found = examine(engine.url(), new Doctor.Needs(8, List.of("q_proj"), 2, Optional.of(characters(1))));
            assertThat(found.findings()).singleElement().satisfies(f -> assertThat(f.what()).contains("different tokens, from token 1 on"));
        }
    }

    @Test
    void aServerThatIsNotThereIsOneProblem() throws Exception {
        URI gone;
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            gone = engine.url();
        }
        Diagnosis found = examine(gone, NEEDS);
        assertThat(found.fit()).isFalse();
        assertThat(found.findings()).singleElement().satisfies(f -> assertThat(f.what()).contains("can't be connected to"));
    }

    @Test
    void evictionAndLeftoversAreWarnings() throws Exception {
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            engine.setting("max_loaded_loras", 8);
            engine.setting("version", "0.5.9");
            engine.preload(TestArtifact.make(root, "old", io.furlong.core.RegistrationId.random(), 1, 0));
            Diagnosis found = examine(engine.url(), NEEDS);
            assertThat(found.fit()).isTrue();
            assertThat(found.findings()).extracting(Diagnosis.Finding::what).anyMatch(w -> w.contains("evicts adapters")).anyMatch(w -> w.contains("earlier run"))
                    .anyMatch(w -> w.contains("0.5.9"));
        }
    }

    @Test
    void behindARouterEachWorkerIsExamined() throws Exception {
        try (SglangDouble one = new SglangDouble(Quirks.RELEASED);
                SglangDouble two = new SglangDouble(Quirks.RELEASED);
                RouterDouble router = new RouterDouble(RouterDouble.Kind.GATEWAY, List.of(one.url(), two.url()))) {
            two.setting("enable_lora", false);
            Diagnosis found = examine(router.url(), NEEDS);
            assertThat(found.findings().getFirst().what()).contains(two.url().toString());
            assertThat(found.findings()).anySatisfy(f -> assertThat(f.remedy()).contains("--disable-retries"));
            assertThat(found.plan()).startsWith("routing: router or direct");
        }
    }
}
