package io.furlong.bench;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One measured number.
 *
 * @param name   what was measured
 * @param median of {@code runs}
 * @param unit   such as {@code tok/s}; {@code ratio} for a share of another figure
 * @param target what it should be; empty where it is only reported
 */
public record Figure(String name, double median, String unit, Optional<Target> target, List<Double> runs) {
    public Figure {
        runs = List.copyOf(runs);
    }

    /** Which side of {@code value} is right. */
    public record Target(Side side, double value) {
        /** Where a figure should be. */
        public enum Side {
            AT_LEAST, AT_MOST;

            @Override
            public String toString() {
                return name().toLowerCase(Locale.ROOT).replace('_', ' ');
            }
        }

        public boolean metBy(double figure) {
            return switch (side) {
                case AT_LEAST -> figure >= value;
                case AT_MOST -> figure <= value;
            };
        }
    }

    /** The median of several repetitions. */
    public static Figure of(String name, String unit, List<Double> runs) {
        List<Double> sorted = runs.stream().sorted().toList();
        int n = sorted.size();
        double median = n % 2 == 1 ? sorted.get(n / 2) : (sorted.get(n / 2 - 1) + sorted.get(n / 2)) / 2;
        return new Figure(name, median, unit, Optional.empty(), runs);
    }

    /** How this figure relates to another. */
    public static Figure share(String name, Figure of, Figure whole) {
        return of(name, "ratio", List.of(of.median / whole.median));
    }

    public Figure atLeast(double wanted) {
        return new Figure(name, median, unit, Optional.of(new Target(Target.Side.AT_LEAST, wanted)), runs);
    }

    public Figure atMost(double wanted) {
        return new Figure(name, median, unit, Optional.of(new Target(Target.Side.AT_MOST, wanted)), runs);
    }
}
