package io.furlong.cli.report;

import io.furlong.core.LedgerSnapshot;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Horizontal drawings with a row an adapter: how its groups ended, and how far its accuracy moved. */
final class AdapterBars {
    private static final int WIDTH = 560;
    private static final int LEFT = 110;
    private static final int RIGHT = 20;
    private static final int ROW = 34;
    private static final int TOP = 8;
    private static final int FOOT = 38;

    private AdapterBars() {}

    /** Where every attempt went, by kind in fixed order; kinds that never happened are left out of the legend. */
    static Map<String, Long> outcomes(LedgerSnapshot g) {
        Map<String, Long> kinds = new LinkedHashMap<>();
        kinds.put("trained", g.trained());
        kinds.put("filtered", g.filteredTotal());
        kinds.put("stale", g.stale());
        kinds.put("requeued", g.requeuedTotal());
        kinds.put("retired", g.retired());
        kinds.put("failed", g.failedTotal());
        kinds.put("open", g.open());
        return kinds;
    }

    /** Shares of the attempts of each adapter. */
    static String outcomeSvg(List<RunSummary.AdapterResult> adapters) {
        StringBuilder svg = open(adapters.size(), "group outcomes by adapter");
        scale(svg, adapters.size(), "share of dispatched groups");
        for (int i = 0; i < adapters.size(); i++) {
            RunSummary.AdapterResult a = adapters.get(i);
            name(svg, a.name(), i);
            double from = 0;
            for (Map.Entry<String, Long> kind : outcomes(a.groups()).entrySet()) {
                double share = kind.getValue() / (double) Math.max(1, a.groups().dispatched());
                if (share > 0) {
                    svg.append("<rect class=\"o-").append(kind.getKey()).append("\" x=\"").append(Svg.at(x(from))).append("\" y=\"").append(rowTop(i))
                            .append("\" width=\"").append(Svg.at(Math.max(1, x(from + share) - x(from) - 1))).append("\" height=\"").append(ROW - 14)
                            .append("\" rx=\"2\"><title>").append(Svg.escape(a.name())).append(": ").append(kind.getValue()).append(' ')
                            .append(kind.getKey()).append(" of ").append(a.groups().dispatched()).append("</title></rect>");
                }
                from += share;
            }
        }
        return svg.append("</svg>").toString();
    }

    /** From the accuracy before to the accuracy after; the greedy one. */
    static String accuracySvg(List<RunSummary.AdapterResult> adapters) {
        StringBuilder svg = open(adapters.size(), "held-out accuracy before and after");
        scale(svg, adapters.size(), "held-out accuracy, greedy: hollow before, full after");
        for (int i = 0; i < adapters.size(); i++) {
            RunSummary.AdapterResult a = adapters.get(i);
            name(svg, a.name(), i);
            if (a.greedy().before().isEmpty() || a.greedy().after().isEmpty()) {
                continue;
            }
            double before = a.greedy().before().getAsDouble();
            double after = a.greedy().after().getAsDouble();
            int y = rowTop(i) + (ROW - 14) / 2;
            String colour = "c" + i % Svg.COLOURS;
            svg.append("<line class=\"span ").append(colour).append("\" x1=\"").append(Svg.at(x(before))).append("\" x2=\"").append(Svg.at(x(after)))
                    .append("\" y1=\"").append(y).append("\" y2=\"").append(y).append("\"/>");
            spot(svg, a.name() + " before: ", before, y, "hollow " + colour);
            spot(svg, a.name() + " after: ", after, y, "full " + colour);
        }
        return svg.append("</svg>").toString();
    }

    private static void spot(StringBuilder svg, String title, double share, int y, String kind) {
        svg.append("<circle class=\"").append(kind).append("\" r=\"6\" cx=\"").append(Svg.at(x(share))).append("\" cy=\"").append(y)
                .append("\"><title>").append(Svg.escape(title)).append(Svg.number(100 * share)).append(" %</title></circle>");
    }

    private static StringBuilder open(int rows, String label) {
        return new StringBuilder("<svg viewBox=\"0 0 " + WIDTH + " " + (TOP + rows * ROW + FOOT) + "\" role=\"img\" aria-label=\"" + label + "\">");
    }

    private static void scale(StringBuilder svg, int rows, String label) {
        int foot = TOP + rows * ROW;
        for (int percent = 0; percent <= 100; percent += 25) {
            String x = Svg.at(x(percent / 100.0));
            svg.append("<line class=\"grid\" x1=\"").append(x).append("\" x2=\"").append(x).append("\" y1=\"").append(TOP).append("\" y2=\"")
                    .append(foot).append("\"/><text class=\"tick\" text-anchor=\"middle\" x=\"").append(x).append("\" y=\"").append(foot + 15)
                    .append("\">").append(percent).append(" %</text>");
        }
        svg.append("<text class=\"axis\" text-anchor=\"middle\" x=\"").append((LEFT + WIDTH - RIGHT) / 2).append("\" y=\"").append(foot + 32)
                .append("\">").append(Svg.escape(label)).append("</text>");
    }

    private static void name(StringBuilder svg, String name, int row) {
        String shown = name.length() <= 15 ? name : name.substring(0, 14) + "…";
        svg.append("<text class=\"name\" text-anchor=\"end\" x=\"").append(LEFT - 10).append("\" y=\"").append(rowTop(row) + (ROW - 14) / 2 + 4)
                .append("\">").append(Svg.escape(shown)).append("</text>");
    }

    private static int rowTop(int row) {
        return TOP + row * ROW + 7;
    }

    private static double x(double share) {
        return LEFT + share * (WIDTH - LEFT - RIGHT);
    }
}
