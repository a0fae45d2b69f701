package io.furlong.bench;

import java.util.List;
import java.util.OptionalDouble;

/**
 * One measured number.
 *
 * @param name   what was measured
 * @param median of {@code runs}
 * @param unit   such as {@code tok/s}; {@code ratio} for a share of another figure
 * @param target what it should be at least; empty where it is only reported
 */
public record Figure(String name, double median, String unit, OptionalDouble target, List<Double> runs) {
    public Figure {
        runs = List.copyOf(runs);
    }

    /** The median of several repetitions. */
    public static Figure of(String name, String unit, List<Double> runs) {
        List<Double> sorted = runs.stream().sorted().toList();
        int n = sorted.size();
        double median = n % 2 == 1 ? sorted.get(n / 2) : (sorted.get(n / 2 - 1) + sorted.get(n / 2)) / 2;
        return new Figure(name, median, unit, OptionalDouble.empty(), runs);
    }

    /** How this figure relates to another. */
    public static Figure share(String name, Figure of, Figure whole) {
        return of(name, "ratio", List.of(of.median / whole.median));
    }

    public Figure atLeast(double wanted) {
        return new Figure(name, median, unit, OptionalDouble.of(wanted), runs);
    }
}
