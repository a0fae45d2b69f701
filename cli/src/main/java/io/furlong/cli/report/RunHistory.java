package io.furlong.cli.report;

import io.furlong.core.MetricSink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Every figure recorded, by adapter, name and step; a later value of the same step replaces. Safe for many threads. */
public final class RunHistory implements MetricSink {
    /** Guarded by this. */
    private final Map<String, Map<String, NavigableMap<Long, Double>>> series = new LinkedHashMap<>();

    @Override
    public synchronized void record(String adapter, long step, Map<String, Double> values) {
        Map<String, NavigableMap<Long, Double>> own = series.computeIfAbsent(adapter, a -> new LinkedHashMap<>());
        values.forEach((name, value) -> own.computeIfAbsent(name, n -> new TreeMap<>()).put(step, value));
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
