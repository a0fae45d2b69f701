package io.furlong.bench;

import io.furlong.sglang.testing.Chaos;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Twelve adapters, one of them bad, sampling and publishing on eight engines that fail at random. What must hold at the end is in the
 * figures that have a target; the others say how much happened.
 */
final class ChaosBench {
    private static final int ENGINES = 8;
    private static final int ADAPTERS = 12;

    private final Duration time;
    private final long seed;

    ChaosBench(Duration time, long seed) {
        this.time = time;
        this.seed = seed;
    }

    List<Figure> run() throws Exception {
        try (ScratchDirectory scratch = ScratchDirectory.create()) {
            Chaos.Report report = Chaos.run(scratch.path(), ENGINES, ADAPTERS, time, seed);
            IntStream steps = report.tenants().stream().skip(1).mapToInt(Chaos.Tenant::steps);
            return List.of(count("faults", report.faults()),
                    count("samples that came back", report.tenants().stream().mapToInt(Chaos.Tenant::trained).sum()),
                    count("samples that were lost, and said so", report.tenants().stream().flatMap(t -> t.lost().values().stream()).mapToInt(Integer::intValue).sum()),
                    count("fewest steps of a good adapter", steps.min().orElse(0)).atLeast(1),
                    count("attempts not accounted for", report.unaccounted()).atMost(0),
                    count("samples made by other weights than their stamp's", report.wrong()).atMost(0),
                    count("good adapters that failed or stopped", report.stopped()).atMost(0),
                    count("bad adapters that failed", report.tenants().getFirst().failed().isEmpty() ? 0 : 1).atLeast(1),
                    count("engines lost to the bad adapter", report.lostToBadAdapter()).atMost(0),
                    count("most adapters on an engine, tainted ones apart", report.mostLoadedAboveTainted()).atMost(Chaos.mostAllowed(ADAPTERS)),
                    count("connections left open", report.connectionsLeft()).atMost(0),
                    count("threads left at work", report.threadsLeft().size()).atMost(0));
        }
    }

    private static Figure count(String what, int n) {
        return Figure.of("chaos: " + what, "", List.of((double) n));
    }
}
