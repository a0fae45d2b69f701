package io.furlong.cli.report;

import io.furlong.core.MetricSink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Figures recorded, by adapter, name and step; a later value of the same step replaces. A series that gets long loses every
 * other point, so that a service may run for months. Safe for many threads.
 */
public final class RunHistory implements MetricSink {
    private static final int MOST_POINTS = 4096;

    /** Guarded by this. */
    private final Map<String, Map<String, NavigableMap<Long, Double>>> series = new LinkedHashMap<>();

    @Override
    public synchronized void record(String adapter, long step, Map<String, Double> values) {
        Map<String, NavigableMap<Long, Double>> own = series.computeIfAbsent(adapter, a -> new LinkedHashMap<>());
        values.forEach((name, value) -> {
            NavigableMap<Long, Double> points = own.computeIfAbsent(name, n -> new TreeMap<>());
            points.put(step, value);
            if (points.size() > MOST_POINTS) {
                thin(points);
            }
        });
    }

    private static void thin(NavigableMap<Long, Double> points) {
        List<Long> steps = new ArrayList<>(points.keySet());
        for (int i = 1; i < steps.size() - 1; i += 2) {
            points.remove(steps.get(i));
        }
    }

    /** The points of one figure in order of step; empty when it was never recorded. */
    public synchronized List<Point> points(String adapter, String figure) {
        List<Point> points = new ArrayList<>();
        series.getOrDefault(adapter, Map.of()).getOrDefault(figure, new TreeMap<>())
                .forEach((step, value) -> points.add(new Point(step, value)));
        return points;
    }

    /** One value of a figure at one step. */
    public record Point(long step, double value) {}
}
