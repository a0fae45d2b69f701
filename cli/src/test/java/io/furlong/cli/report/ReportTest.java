package io.furlong.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

class ReportTest {
    private static final InstantSource CLOCK = InstantSource.fixed(Instant.parse("2026-11-30T12:00:00Z"));

    @TempDir
    Path dir;

    @Test
    void theReportIsOneFileThatNeedsNoNetwork() {
        assertThat(Report.html(SampleRun.summary(), SampleRun.history())).doesNotContain("http:", "https:", "src=", "href=", "@import", "url(");
    }

    @Test
    void namesThatLookLikeMarkupStayText() {
        assertThat(Report.html(SampleRun.summary(), SampleRun.history())).doesNotContain("<sort").contains("&lt;sort&amp;upper&gt;");
    }

    @Test
    void everyChartIsWellFormedAndHasNoImpossibleNumber() throws Exception {
        String html = Report.html(SampleRun.summary(), SampleRun.history());
        List<String> charts = svgs(html);
        assertThat(charts).hasSize(6).allSatisfy(svg -> assertThat(svg).doesNotContain("NaN", "Infinity"));
        for (String svg : charts) {
            DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
        }
    }

    @Test
    void everyStepOfEveryAdapterIsADotThatSaysItsValue() {
        String reward = svgs(Report.html(SampleRun.summary(), SampleRun.history())).getFirst();
        assertThat(Pattern.compile("<circle").matcher(reward).results()).hasSize(SampleRun.STEPS * 2 + 12);
        assertThat(reward).containsPattern("<title>add, step 40: [\\d.]+</title>");
    }

    @Test
    void whatWasNeverRecordedIsLeftOut() {
        RunHistory history = new RunHistory();
        history.record("add", 1, Map.of(Figure.REWARD_MEAN, 0.5, Figure.LOGPROB_GAP_MAX, 0.0));
        String html = Report.html(SampleRun.summary(), history);
        assertThat(html).contains("<h2>Reward</h2>").doesNotContain("<h2>Publish time</h2>", "<h2>Response length</h2>", "<h2>Trainer–engine gap</h2>");
    }

    @Test
    void aRunWithoutAdaptersStillHasAReport() {
        assertThat(Report.html(new RunSummary(1, Duration.ZERO, "cpu", "m", 0, 0, List.of()), new RunHistory())).contains("0 adapters");
    }

    @Test
    void theSummaryHasExactlyItsKeys() throws Exception {
        try (RunRecord record = RunRecord.in(dir, CLOCK, List.of())) {
            record.finish(SampleRun.summary());
        }
        JsonNode summary = new ObjectMapper().readTree(dir.resolve("summary.json").toFile());
        assertThat(summary.fieldNames()).toIterable()
                .containsExactly("seed", "wall_s", "device", "model", "tokens_generated", "tokens_trained", "adapters");
        JsonNode adapter = summary.get("adapters").get(0);
        assertThat(adapter.fieldNames()).toIterable().containsExactly("name", "eval_before", "eval_after", "steps", "versions_published",
                "max_staleness_seen", "logprob_gap_max", "groups");
        assertThat(summary.get("wall_s").doubleValue()).isEqualTo(61.24);
        JsonNode groups = adapter.get("groups");
        assertThat(groups.fieldNames()).toIterable().containsExactly("dispatched", "in_flight", "buffered", "training", "trained", "filtered",
                "stale", "retired", "requeued", "failed");
        long sum = 0;
        for (var part : groups.properties()) {
            sum += part.getKey().equals("dispatched") ? 0 : part.getValue().longValue();
        }
        assertThat(sum).isEqualTo(groups.get("dispatched").longValue()).isEqualTo(660);
    }

    @Test
    void figuresAreOnDiskWhenTheRecordIsClosedAndALaterPartOfTheRunAppends() throws Exception {
        for (int part = 1; part <= 2; part++) {
            try (RunRecord record = RunRecord.in(dir, CLOCK, List.of())) {
                record.record("add", part, Map.of("reward_mean", 0.5 * part));
                record.record("", part, Map.of("batch_groups", Double.NaN));
            }
        }
        assertThat(Files.readAllLines(dir.resolve("metrics.jsonl"))).containsExactly(
                "{\"at\":\"2026-11-30T12:00:00Z\",\"step\":1,\"add/reward_mean\":0.5}",
                "{\"at\":\"2026-11-30T12:00:00Z\",\"step\":1,\"batch_groups\":null}",
                "{\"at\":\"2026-11-30T12:00:00Z\",\"step\":2,\"add/reward_mean\":1.0}",
                "{\"at\":\"2026-11-30T12:00:00Z\",\"step\":2,\"batch_groups\":null}");
    }

    @Test
    void aSinkThatFailsDoesNotDisturbTheRest() throws Exception {
        List<Long> seen = new java.util.ArrayList<>();
        try (RunRecord record = RunRecord.in(dir, CLOCK, List.of((adapter, step, values) -> {
            throw new IllegalStateException("down");
        }, (adapter, step, values) -> seen.add(step)))) {
            record.record("add", 1, Map.of("reward_mean", 1.0));
            record.record("add", 2, Map.of("reward_mean", 1.0));
        }
        assertThat(seen).containsExactly(1L, 2L);
        assertThat(Files.readAllLines(dir.resolve("metrics.jsonl"))).hasSize(2);
    }

    @Test
    void aVeryLongRunKeepsItsShapeInBoundedRoom() {
        RunHistory history = new RunHistory();
        for (int step = 1; step <= 20_000; step++) {
            history.record("add", step, Map.of("reward_mean", step / 20_000.0));
        }
        List<RunHistory.Point> points = history.points("add", "reward_mean");
        assertThat(points).hasSizeBetween(2000, 4096).isSortedAccordingTo(java.util.Comparator.comparingLong(RunHistory.Point::step));
        assertThat(points.getFirst().step()).isEqualTo(1);
        assertThat(points.getLast().step()).isEqualTo(20_000);
    }

    @Test
    void theResultTableNamesWhatFailed() {
        assertThat(ResultTable.of(SampleRun.summary())).containsExactly(
                "adapter       greedy             sampled             steps  versions  staleness      gap",
                "add            31.0 % →  97.0 %   28.0 % →  94.0 %     40        41          1  3.1e-06",
                "reverse        38.0 % →  95.0 %   33.0 % →  84.0 %     40        41          1  6.2e-06",
                "<sort&upper>   45.0 % →  52.0 %   38.0 % →  74.0 %     12        13          1  9.3e-06  FAILED: gradient was NaN in 3 steps running");
    }

    @Test
    void ticksAreRoundAndCoverTheValues() {
        assertThat(Svg.ticks(0, 0.97, 5)).containsExactly(0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0);
        assertThat(Svg.ticks(3, 3, 5).getLast()).isGreaterThanOrEqualTo(3);
        assertThat(Svg.ticks(-0.5, 1, 5).getFirst()).isLessThanOrEqualTo(-0.5);
        assertThat(Svg.decades(2e-7, 3e-5)).hasSize(4);
        assertThat(List.of(Svg.number(0), Svg.number(0.6000000000000001), Svg.number(1234.5), Svg.number(3.1e-6), Svg.number(1e-7), Svg.number(40)))
                .containsExactly("0", "0.6", "1,235", "3.1e-6", "1e-7", "40");
    }

    private static List<String> svgs(String html) {
        Matcher m = Pattern.compile("<svg.*?</svg>", Pattern.DOTALL).matcher(html);
        return m.results().map(r -> r.group()).toList();
    }
}
