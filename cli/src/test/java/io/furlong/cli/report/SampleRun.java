package io.furlong.cli.report;

import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;

/** A made-up run of three adapters, the last of which failed. */
final class SampleRun {
    static final int STEPS = 40;
    private static final List<String> NAMES = List.of("add", "reverse", "<sort&upper>");

    private SampleRun() {}

    static RunSummary summary() {
        return new RunSummary(7, Duration.ofMillis(61_240), "cpu", "models/furlong-tiny", 481_320, 462_080, IntStream.range(0, 3).mapToObj(i ->
                new RunSummary.AdapterResult(NAMES.get(i), i == 2 ? AdapterState.FAILED : AdapterState.COMPLETED,
                        i == 2 ? "gradient was NaN in 3 steps running" : "", RunSummary.BeforeAfter.of(0.31 + 0.07 * i, i == 2 ? 0.52 : 0.97 - 0.02 * i),
                        RunSummary.BeforeAfter.of(0.28 + 0.05 * i, 0.94 - 0.1 * i), i == 2 ? 12 : STEPS, i == 2 ? 13 : STEPS + 1, 1, 3.1e-6 * (i + 1),
                        groups(i), Optional.of(Path.of("runs/20261130-2230/adapters/" + i)))).toList());
    }

    static LedgerSnapshot groups(int i) {
        return i == 2 ? new LedgerSnapshot(240, 0, 0, 0, 192, Map.of(), 0, 9, Map.of("engine_gone", 7L), Map.of("veto", 32L))
                : new LedgerSnapshot(660, 0, 0, 0, 640, Map.of("zero_variance", 12L), 3, 5, Map.of(), Map.of());
    }

    static RunHistory history() {
        RunHistory history = new RunHistory();
        Random random = new Random(5);
        for (int i = 0; i < 3; i++) {
            for (int step = 1; step <= (i == 2 ? 12 : STEPS); step++) {
                double learnt = 1 / (1 + Math.exp(-(step - 14.0 - 4 * i) / 4));
                history.record(NAMES.get(i), step, Map.of(
                        Figure.REWARD_MEAN, Math.clamp(0.3 + 0.65 * learnt + 0.05 * random.nextGaussian(), 0, 1),
                        Figure.RESPONSE_TOKENS_MEAN, 5 + i + 2 * learnt + 0.4 * random.nextGaussian(),
                        Figure.PUBLISH_SECONDS, 0.004 + 0.002 * random.nextDouble() + 0.001 * i,
                        Figure.LOGPROB_GAP_MAX, 1e-6 * Math.exp(0.8 * random.nextGaussian()),
                        Figure.STALENESS_MAX, (double) random.nextInt(2)));
            }
        }
        return history;
    }
}
