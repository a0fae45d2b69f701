package io.furlong.cli.report;

import io.furlong.cli.report.RunHistory.Point;
import java.util.ArrayList;
import java.util.List;

/** Lines over optimizer steps, one an adapter: each step thin, and where there are many steps a running mean bold. */
final class LineChart {
    /** How values map to height. */
    enum Axis { LINEAR_FROM_ZERO, LOGARITHMIC }

    /**
     * @param colour index of the adapter's colour
     */
    record Series(String name, int colour, List<Point> points) {}

    private static final int WIDTH = 560;
    private static final int HEIGHT = 250;
    private static final int LEFT = 58;
    private static final int RIGHT = 14;
    private static final int TOP = 12;
    private static final int BOTTOM = 40;
    private static final int MEAN_OF = 5;
    private static final int MOST_POINTS = 240;

    private final String label;
    private final String unit;
    private final Axis axis;
    private final List<Series> series;
    private double left;
    private double right;
    private List<Double> ticks = List.of();

    /**
     * @param label what the values are, for the axis
     * @param unit  behind each value; may be empty
     */
    LineChart(String label, String unit, Axis axis, List<Series> series) {
        this.label = label;
        this.unit = unit.isEmpty() ? "" : " " + unit;
        this.axis = axis;
        this.series = series.stream().map(s -> new Series(s.name(), s.colour(), thinned(drawable(s.points())))).toList();
    }

    boolean empty() {
        return series.stream().allMatch(s -> s.points().isEmpty());
    }

    String svg() {
        List<Point> all = series.stream().flatMap(s -> s.points().stream()).toList();
        left = all.stream().mapToLong(Point::step).min().orElse(0);
        right = Math.max(left + 1, all.stream().mapToLong(Point::step).max().orElse(1));
        double low = all.stream().mapToDouble(Point::value).min().orElse(0);
        double high = all.stream().mapToDouble(Point::value).max().orElse(1);
        ticks = switch (axis) {
            case LINEAR_FROM_ZERO -> Svg.ticks(Math.min(0, low), high, 5);
            case LOGARITHMIC -> Svg.decades(low, high);
        };
        StringBuilder svg = new StringBuilder();
        svg.append("<svg viewBox=\"0 0 ").append(WIDTH).append(' ').append(HEIGHT).append("\" role=\"img\" aria-label=\"")
                .append(Svg.escape(label)).append(" by step\">");
        frame(svg);
        for (Series s : series) {
            lines(svg, s);
        }
        for (Series s : series) {
            dots(svg, s);
        }
        return svg.append("</svg>").toString();
    }

    private void frame(StringBuilder svg) {
        for (double tick : ticks) {
            double y = y(tick);
            svg.append("<line class=\"grid\" x1=\"").append(LEFT).append("\" x2=\"").append(WIDTH - RIGHT).append("\" y1=\"").append(Svg.at(y))
                    .append("\" y2=\"").append(Svg.at(y)).append("\"/><text class=\"tick\" text-anchor=\"end\" x=\"").append(LEFT - 7)
                    .append("\" y=\"").append(Svg.at(y + 3.5)).append("\">").append(Svg.number(tick)).append("</text>");
        }
        for (double tick : Svg.ticks(left, right, 6)) {
            if (tick >= left && tick <= right && tick == Math.rint(tick)) {
                svg.append("<text class=\"tick\" text-anchor=\"middle\" x=\"").append(Svg.at(x(tick))).append("\" y=\"").append(HEIGHT - BOTTOM + 16)
                        .append("\">").append(Svg.number(tick)).append("</text>");
            }
        }
        svg.append("<text class=\"axis\" text-anchor=\"middle\" x=\"").append((LEFT + WIDTH - RIGHT) / 2).append("\" y=\"").append(HEIGHT - 5)
                .append("\">optimizer step</text><text class=\"axis\" text-anchor=\"middle\" transform=\"translate(13 ")
                .append((TOP + HEIGHT - BOTTOM) / 2).append(") rotate(-90)\">").append(Svg.escape(label)).append("</text>");
    }

    private void lines(StringBuilder svg, Series s) {
        boolean many = s.points().size() >= 4 * MEAN_OF;
        path(svg, s, s.points(), many ? "raw" : "line");
        if (many) {
            path(svg, s, runningMean(s.points()), "line");
        }
    }

    private void path(StringBuilder svg, Series s, List<Point> points, String kind) {
        if (points.size() < 2) {
            return;
        }
        svg.append("<polyline class=\"").append(kind).append(" c").append(s.colour()).append("\" data-a=\"").append(Svg.escape(s.name()))
                .append("\" points=\"");
        points.forEach(p -> svg.append(Svg.at(x(p.step()))).append(',').append(Svg.at(y(p.value()))).append(' '));
        svg.append("\"/>");
    }

    private void dots(StringBuilder svg, Series s) {
        for (Point p : s.points()) {
            svg.append("<circle class=\"dot c").append(s.colour()).append("\" data-a=\"").append(Svg.escape(s.name())).append("\" r=\"6\" cx=\"")
                    .append(Svg.at(x(p.step()))).append("\" cy=\"").append(Svg.at(y(p.value()))).append("\"><title>")
                    .append(Svg.escape(s.name())).append(", step ").append(p.step()).append(": ").append(Svg.number(p.value())).append(unit)
                    .append("</title></circle>");
        }
    }

    private double x(double step) {
        return LEFT + (step - left) / (right - left) * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        double low = scaled(ticks.getFirst());
        double high = scaled(ticks.getLast());
        return TOP + (high - scaled(value)) / (high - low) * (HEIGHT - TOP - BOTTOM);
    }

    private double scaled(double value) {
        return axis == Axis.LOGARITHMIC ? Math.log10(value) : value;
    }

    private List<Point> drawable(List<Point> points) {
        return points.stream().filter(p -> Double.isFinite(p.value()) && (axis == Axis.LINEAR_FROM_ZERO || p.value() > 0)).toList();
    }

    /** Long runs: each point the mean of as many neighbours as it takes. */
    private static List<Point> thinned(List<Point> points) {
        if (points.size() <= MOST_POINTS) {
            return points;
        }
        int of = (points.size() + MOST_POINTS - 1) / MOST_POINTS;
        List<Point> thin = new ArrayList<>();
        for (int i = 0; i < points.size(); i += of) {
            List<Point> part = points.subList(i, Math.min(points.size(), i + of));
            thin.add(new Point(part.get(part.size() / 2).step(), part.stream().mapToDouble(Point::value).average().orElseThrow()));
        }
        return thin;
    }

    private static List<Point> runningMean(List<Point> points) {
        List<Point> mean = new ArrayList<>();
        for (int i = 0; i < points.size(); i++) {
            List<Point> part = points.subList(Math.max(0, i - MEAN_OF + 1), i + 1);
            mean.add(new Point(points.get(i).step(), part.stream().mapToDouble(Point::value).average().orElseThrow()));
        }
        return mean;
    }
}
