package io.furlong.cli.report;

import io.furlong.cli.report.LineChart.Axis;
import io.furlong.cli.report.LineChart.Series;
import io.furlong.cli.report.RunHistory.Point;
import io.furlong.core.AdapterState;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.Set;

/** {@code report.html}: one run on one page, in one file that needs no network. */
final class Report {
    private final RunSummary run;
    private final RunHistory history;

    private Report(RunSummary run, RunHistory history) {
        this.run = run;
        this.history = history;
    }

    static String html(RunSummary run, RunHistory history) {
        return new Report(run, history).page();
    }

    private String page() {
        return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
                + "<title>Furlong run, seed " + run.seed() + "</title><style>\n" + resource("report.css") + "</style></head>\n<body><main>\n"
                + head() + table() + "<section class=\"charts\">\n" + charts() + "</section>\n" + foot()
                + "</main><script>\n" + resource("report.js") + "</script></body></html>\n";
    }

    private String head() {
        double seconds = Math.max(1e-3, run.wall().toMillis() / 1e3);
        long steps = run.adapters().stream().mapToLong(RunSummary.AdapterResult::steps).sum();
        return "<header><h1>" + count(run.adapters().size(), "adapter") + " on one base model</h1><p>" + Svg.escape(run.model()) + " · "
                + Svg.escape(run.device()) + " · seed " + run.seed() + "</p></header>\n<section class=\"cards\">"
                + card(duration(seconds), "wall time") + card(Svg.number(steps), "optimizer steps")
                + card(String.format(Locale.ROOT, "%,d", run.tokensGenerated()), "tokens generated")
                + card(String.format(Locale.ROOT, "%,d", run.tokensTrained()), "tokens trained")
                + card(Svg.number(run.tokensGenerated() / seconds), "tokens generated a second, over the whole run") + "</section>\n";
    }

    private String table() {
        StringBuilder html = new StringBuilder("<section class=\"wide\"><table><thead><tr><th>adapter<th>greedy before<th>after<th>sampled before<th>after"
                + "<th>steps<th>versions<th>oldest group<th>largest gap<th>state</tr></thead><tbody>\n");
        for (int i = 0; i < run.adapters().size(); i++) {
            RunSummary.AdapterResult a = run.adapters().get(i);
            html.append("<tr data-a=\"").append(Svg.escape(a.name())).append("\"><td><i class=\"key c").append(i % Svg.COLOURS).append("\"></i>")
                    .append(Svg.escape(a.name())).append("<td>").append(percent(a.greedy().before())).append("<td><b>")
                    .append(percent(a.greedy().after())).append("</b><td>").append(percent(a.sampled().before())).append("<td>")
                    .append(percent(a.sampled().after())).append("<td>").append(a.steps()).append("<td>").append(a.versionsPublished())
                    .append("<td>").append(count(a.maxStalenessSeen(), "step")).append("<td>").append(Svg.number(a.logprobGapMax()))
                    .append("<td class=\"").append(a.state() == AdapterState.FAILED ? "bad" : "").append("\">")
                    .append(a.state().name().toLowerCase(Locale.ROOT)).append(a.reason().isEmpty() ? "" : ": " + Svg.escape(a.reason()))
                    .append("</tr>\n");
        }
        return html.append("</tbody></table></section>\n").toString();
    }

    private String charts() {
        List<String> figures = new ArrayList<>();
        addLines(figures, "Reward", "mean reward", "", Axis.LINEAR_FROM_ZERO, Figure.REWARD_MEAN, 1, "Mean over the groups of each optimizer step. "
                + "Thin: each step. Bold: the last five.");
        addLines(figures, "Response length", "tokens", "tokens", Axis.LINEAR_FROM_ZERO, Figure.RESPONSE_TOKENS_MEAN, 1, "Mean response length of each step.");
        if (run.adapters().stream().anyMatch(a -> a.greedy().after().isPresent())) {
            figures.add(figure("Held-out accuracy", AdapterBars.accuracySvg(run.adapters()), "Prompts that were never trained on, before the first "
                    + "step and after the last."));
        }
        if (!run.adapters().isEmpty()) {
            figures.add(figure("Group outcomes", AdapterBars.outcomeSvg(run.adapters()) + outcomeLegend(), "Where every dispatched group went."));
        }
        addLines(figures, "Publish time", "milliseconds", "ms", Axis.LINEAR_FROM_ZERO, Figure.PUBLISH_SECONDS, 1000, "From the commit of a step to its weights in "
                + "force on the engines.");
        addLines(figures, "Trainer–engine gap", "|Δ log-prob|, nats", "nats", Axis.LOGARITHMIC, Figure.LOGPROB_GAP_MAX, 1, "Largest difference of a token's log-prob between "
                + "engine and trainer under the same weights.");
        return String.join("\n", figures);
    }

    private void addLines(List<String> figures, String title, String label, String unit, Axis axis, String figure, double scale, String caption) {
        List<Series> series = new ArrayList<>();
        for (int i = 0; i < run.adapters().size(); i++) {
            String name = run.adapters().get(i).name();
            List<Point> points = history.points(name, figure).stream().map(p -> new Point(p.step(), p.value() * scale)).toList();
            series.add(new Series(name, i % Svg.COLOURS, points));
        }
        LineChart chart = new LineChart(label, unit, axis, series);
        if (!chart.empty()) {
            figures.add(figure(title, chart.svg() + legend(), caption));
        }
    }

    private static String figure(String title, String drawing, String caption) {
        return "<figure><h2>" + title + "</h2>" + drawing + "<figcaption>" + caption + "</figcaption></figure>";
    }

    private String legend() {
        StringBuilder html = new StringBuilder("<p class=\"legend\">");
        for (int i = 0; i < run.adapters().size(); i++) {
            String name = Svg.escape(run.adapters().get(i).name());
            html.append("<span data-a=\"").append(name).append("\"><i class=\"key c").append(i % Svg.COLOURS).append("\"></i>").append(name).append("</span>");
        }
        return html.append("</p>").toString();
    }

    private String outcomeLegend() {
        Set<String> happened = new LinkedHashSet<>();
        run.adapters().forEach(a -> AdapterBars.outcomes(a.groups()).forEach((kind, n) -> {
            if (n > 0) {
                happened.add(kind);
            }
        }));
        StringBuilder html = new StringBuilder("<p class=\"legend\">");
        happened.forEach(kind -> html.append("<span><i class=\"key o-").append(kind).append("\"></i>").append(kind).append("</span>"));
        return html.append("</p>").toString();
    }

    private String foot() {
        StringBuilder html = new StringBuilder("<footer>");
        for (RunSummary.AdapterResult a : run.adapters()) {
            a.exported().ifPresent(path -> html.append("<p>").append(Svg.escape(a.name())).append(": <code>").append(Svg.escape(path.toString())).append("</code></p>"));
        }
        return html.append("</footer>\n").toString();
    }

    private static String card(String value, String label) {
        return "<div><b>" + value + "</b><span>" + label + "</span></div>";
    }

    private static String duration(double seconds) {
        return seconds < 120 ? String.format(Locale.ROOT, "%.1f s", seconds)
                : seconds < 7200 ? String.format(Locale.ROOT, "%.1f min", seconds / 60) : String.format(Locale.ROOT, "%.1f h", seconds / 3600);
    }

    private static String percent(OptionalDouble share) {
        return share.isPresent() ? String.format(Locale.ROOT, "%.1f %%", 100 * share.getAsDouble()) : "–";
    }

    private static String count(long n, String noun) {
        return n + " " + noun + (n == 1 ? "" : "s");
    }

    private static String resource(String name) {
        try (InputStream in = Report.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("resource " + name + " is missing beside " + Report.class);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
