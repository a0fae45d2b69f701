package io.furlong.cli.report;

import java.io.PrintStream;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * One line an adapter while a run goes on: redrawn in place in a terminal, printed again every few seconds elsewhere.
 * Owned by its ticker thread; {@code close} stops the ticker and draws once more, so that the last state is on the screen.
 */
public final class LiveView implements AutoCloseable {
    /** What the output can do. */
    public enum Terminal {
        REDRAWN, PLAIN;

        /** What standard output is. */
        public static Terminal ofStandardOutput() {
            boolean dumb = "dumb".equals(System.getenv("TERM"));
            return System.console() != null && System.console().isTerminal() && !dumb ? REDRAWN : PLAIN;
        }

        Duration interval() {
            return this == REDRAWN ? Duration.ofMillis(250) : Duration.ofSeconds(5);
        }
    }

    private static final Duration RATE_WINDOW = Duration.ofSeconds(10);
    private static final int BAR_CELLS = 16;

    private final PrintStream out;
    private final Terminal terminal;
    private final InstantSource clock;
    private final Supplier<List<LiveLine>> lines;
    private final Instant start;
    private final Map<String, Deque<Count>> counts = new HashMap<>();
    private final ScheduledExecutorService ticker = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("live-view").factory());
    private int drawn;

    LiveView(PrintStream out, Terminal terminal, InstantSource clock, Supplier<List<LiveLine>> lines) {
        this.out = out;
        this.terminal = terminal;
        this.clock = clock;
        this.lines = lines;
        this.start = clock.instant();
    }

    /** @param lines asked for the present state at every redraw; must not block */
    public static LiveView start(PrintStream out, Terminal terminal, InstantSource clock, Supplier<List<LiveLine>> lines) {
        LiveView view = new LiveView(out, terminal, clock, lines);
        long every = terminal.interval().toMillis();
        view.ticker.scheduleAtFixedRate(view::draw, every, every, TimeUnit.MILLISECONDS);
        return view;
    }

    @Override
    public void close() {
        ticker.shutdown();
        try {
            ticker.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        draw();
    }

    synchronized void draw() {
        Instant now = clock.instant();
        StringBuilder frame = new StringBuilder();
        if (terminal == Terminal.REDRAWN && drawn > 0) {
            frame.append("\033[").append(drawn).append('A');
        }
        drawn = 0;
        for (LiveLine line : lines.get()) {
            double rate = tokensPerSecond(line, now);
            frame.append(terminal == Terminal.REDRAWN ? "\033[2K" + redrawn(line, rate) : plain(line, rate, now)).append('\n');
            drawn++;
        }
        if (terminal == Terminal.REDRAWN) {
            frame.append("\033[J"); // an adapter that left leaves no line behind
        }
        out.print(frame);
        out.flush();
    }

    private static String redrawn(LiveLine line, double rate) {
        return String.format(Locale.ROOT, "  %-14s %s %-9s reward %s  stale %d  v%-4d %,7.0f tok/s", shortened(line.name(), 14), bar(line),
                progress(line), reward(line.rewardMean()), line.staleness(), line.version(), rate) + note(line);
    }

    private String plain(LiveLine line, double rate, Instant now) {
        return String.format(Locale.ROOT, "%4ds %-14s step %s, reward %s, staleness %d, version %d, %,.0f tok/s",
                Duration.between(start, now).toSeconds(), shortened(line.name(), 14), progress(line), reward(line.rewardMean()),
                line.staleness(), line.version(), rate) + note(line);
    }

    private static String note(LiveLine line) {
        return switch (line.state()) {
            case ACTIVE -> "";
            case QUEUED, PENDING, PAUSED, RETIRING, CLEANUP, COMPLETED, FAILED -> "  " + line.state().name().toLowerCase(Locale.ROOT);
        };
    }

    private static String progress(LiveLine line) {
        return line.targetStep() > 0 ? line.step() + "/" + line.targetStep() : Long.toString(line.step());
    }

    private static String reward(OptionalDouble mean) {
        return mean.isPresent() ? String.format(Locale.ROOT, "%5.2f", mean.getAsDouble()) : "    –";
    }

    private static String bar(LiveLine line) {
        if (line.targetStep() == 0) {
            return " ".repeat(BAR_CELLS);
        }
        int full = (int) (BAR_CELLS * Math.min(line.step(), line.targetStep()) / line.targetStep());
        return "█".repeat(full) + "░".repeat(BAR_CELLS - full);
    }

    private double tokensPerSecond(LiveLine line, Instant now) {
        Deque<Count> seen = counts.computeIfAbsent(line.name(), n -> new ArrayDeque<>(List.of(new Count(now, line.tokensGenerated()))));
        seen.addLast(new Count(now, line.tokensGenerated()));
        while (seen.size() > 2 && seen.peekFirst().at().isBefore(now.minus(RATE_WINDOW))) {
            seen.removeFirst();
        }
        Count first = seen.peekFirst();
        double seconds = Duration.between(first.at(), now).toNanos() / 1e9;
        return seconds > 0 ? Math.max(0, line.tokensGenerated() - first.tokens()) / seconds : 0;
    }

    private static String shortened(String name, int cells) {
        return name.length() <= cells ? name : name.substring(0, cells - 1) + "…";
    }

    private record Count(Instant at, long tokens) {}
}
