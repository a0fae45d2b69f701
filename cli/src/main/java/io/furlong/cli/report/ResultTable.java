package io.furlong.cli.report;

import io.furlong.core.AdapterState;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** The table before → after that ends a run, as text. */
public final class ResultTable {
    private ResultTable() {}

    /** One line an adapter under a head line. */
    public static List<String> of(RunSummary run) {
        int width = Math.max(7, run.adapters().stream().mapToInt(a -> a.name().length()).max().orElse(0));
        boolean sampled = run.adapters().stream().anyMatch(a -> a.sampled().after().isPresent());
        List<String> lines = new ArrayList<>();
        lines.add(pad("adapter", width) + "  greedy             " + (sampled ? "sampled            " : "") + " steps  versions  staleness      gap");
        for (RunSummary.AdapterResult a : run.adapters()) {
            lines.add(pad(a.name(), width) + "  " + change(a.greedy()) + "  " + (sampled ? change(a.sampled()) + "  " : "")
                    + String.format(Locale.ROOT, "%5d  %8d  %9d  %7.1e", a.steps(), a.versionsPublished(), a.maxStalenessSeen(), a.logprobGapMax())
                    + (a.state() == AdapterState.FAILED ? "  FAILED: " + a.reason() : ""));
        }
        return lines;
    }

    private static String change(RunSummary.BeforeAfter share) {
        return percent(share.before()) + " → " + percent(share.after());
    }

    private static String percent(OptionalDouble share) {
        return share.isPresent() ? String.format(Locale.ROOT, "%5.1f %%", 100 * share.getAsDouble()) : "      –";
    }

    private static String pad(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }
}
