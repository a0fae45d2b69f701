package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.Adapter;
import io.furlong.rollout.RolloutLimits.Schedule;
import io.furlong.rollout.data.Datasets;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One tenant's bad data or reward ends that tenant, with a reason; what the neighbour trains is what it trains alone. */
@Timeout(60)
class TenantFaultsTest {
    private static final RolloutLimits LIMITS = RolloutFixture.limits(32, Schedule.DETERMINISTIC);

    @TempDir
    Path dir;

    @AfterEach
    void letEndlessLoopsEnd() {
        OwnRewards.Endless.over = true;
    }

    private interface Tenant {
        Configs change(Configs basic) throws IOException;
    }

    /** Rows that the neighbour trains beside {@code tenant}, and the tenant's fault. */
    private Map.Entry<List<List<Long>>, String> beside(Tenant tenant) throws Exception {
        Path good = dir.resolve("good.jsonl");
        Files.writeString(good, lines(30));
        try (Datasets datasets = new Datasets(new CharTokenizer(), 1, 64);
             RolloutFixture f = new RolloutFixture((r, n) -> "no", LIMITS, datasets)) {
            f.registry.activate("bad", tenant.change(Configs.basic().data(Configs.data(good))).build());
            f.registry.activate("good", Configs.basic().data(Configs.data(good)).build());
            f.trainUntil("good", 6);
            while (f.faults.isEmpty()) {
                f.trainOnce();
            }
            f.trainUntil("good", f.steps.get("good").size() + 2);
            assertThat(f.faults).containsOnlyKeys("bad");
            return Map.entry(f.steps.get("good").subList(0, 8).stream()
                    .map(s -> s.groups().stream().map(g -> g.prompt().row()).toList()).toList(), f.faults.get("bad"));
        }
    }

    private static String lines(int rows) {
        return IntStream.range(0, rows).mapToObj(i -> "{\"prompt\": \"q" + i + "\", \"label\": \"a\"}\n").collect(Collectors.joining());
    }

    private Tenant data(String name, String text) {
        return c -> c.data(Configs.data(Files.writeString(dir.resolve(name), text)));
    }

    @Test
    void badDataEndsItsTenantAlone() throws Exception {
        Files.createDirectory(dir.resolve("folder.jsonl"));
        Files.write(dir.resolve("latin1.jsonl"), "{\"prompt\": \"\u00e9\", \"label\": \"b\"}\n".getBytes(StandardCharsets.ISO_8859_1));
        Map<String, Tenant> tenants = Map.of(
                "no such file", c -> c.data(Configs.data(dir.resolve("missing.jsonl"))),
                "is a directory", c -> c.data(Configs.data(dir.resolve("folder.jsonl"))),
                "must end in", data("data.txt", lines(3)),
                "is empty", data("empty.jsonl", ""),
                "not UTF-8", c -> c.data(Configs.data(dir.resolve("latin1.jsonl"))),
                "no such column", data("column.jsonl", "{\"question\": \"a\", \"label\": \"b\"}\n"),
                "line 101", data("middle.jsonl", lines(100) + "{\"prompt\": \n" + lines(100)),
                "all 2 prompts are too long", data("long.jsonl", ("{\"prompt\": \"" + "x".repeat(100) + "\", \"label\": \"b\"}\n").repeat(2)));
        List<List<Long>> first = List.of();
        for (Map.Entry<String, Tenant> t : tenants.entrySet()) {
            Map.Entry<List<List<Long>>, String> run = beside(t.getValue());
            assertThat(run.getValue()).contains(t.getKey()).doesNotContain("\n");
            assertThat(first.isEmpty() || run.getKey().equals(first)).as("the neighbour's rows").isTrue();
            first = run.getKey();
        }
    }

    @Test
    void aRewardThatThrowsOrIsNotANumberEndsItsTenantAlone() throws Exception {
        assertThat(beside(c -> c.reward(OwnRewards.config("Throwing", Duration.ofSeconds(5)))).getValue())
                .contains("32 attempts in a row", "reward throwing threw", "the judge is out");
        assertThat(beside(c -> c.reward(OwnRewards.config("NotANumber", Duration.ofSeconds(5)))).getValue())
                .contains("32 attempts in a row", "returned NaN", "must be a finite number");
    }

    @Test
    void aRewardThatNeverReturnsEndsItsTenantAtTheBound() throws Exception {
        OwnRewards.Endless.over = false;
        assertThat(beside(c -> c.reward(OwnRewards.config("Endless", Duration.ofMillis(20)))).getValue())
                .contains("4 calls have not returned within 20 ms");
    }

    @Test
    void anAdapterWithOneRowTrainsOnIt() throws Exception {
        try (Datasets datasets = new Datasets(new CharTokenizer(), 1, 64);
             RolloutFixture f = new RolloutFixture((r, n) -> "a", LIMITS, datasets)) {
            Adapter a = f.registry.activate("one", data("one.jsonl", lines(1)).change(Configs.basic()).build());
            f.trainUntil("one", 3);
            assertThat(f.steps.get("one").get(2).groups()).allSatisfy(g -> assertThat(g.prompt().row()).isZero())
                    .extracting(g -> g.prompt().epoch()).containsExactly(8, 9, 10, 11);
            assertThat(f.rollout.statistics().getFirst().rowsPerEpoch()).isEqualTo(1);
            assertThat(a.registration()).isEqualTo(f.rollout.statistics().getFirst().registration());
        }
    }
}
