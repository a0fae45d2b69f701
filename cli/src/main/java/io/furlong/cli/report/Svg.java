package io.furlong.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Numbers and text as SVG and HTML take them, and round ticks for an axis. */
final class Svg {
    /** Adapters are told apart by this many colours; more reuse them. */
    static final int COLOURS = 8;

    private Svg() {}

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;").replace("'", "&#39;");
    }

    /** A coordinate: one decimal. */
    static String at(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }

    /** A value for people: three significant digits, no trailing zeros. */
    static String number(double value) {
        if (value == 0) {
            return "0";
        }
        double size = Math.abs(value);
        if (size >= 1000) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        if (size < 1e-3) {
            return String.format(Locale.ROOT, "%.1e", value).replaceAll("e([+-])0*(\\d)", "e$1$2").replace(".0e", "e");
        }
        int decimals = (int) Math.max(0, 2 - Math.floor(Math.log10(size)));
        String text = String.format(Locale.ROOT, "%." + decimals + "f", value);
        return text.contains(".") ? text.replaceAll("0+$", "").replaceAll("\\.$", "") : text;
    }

    /** About {@code wanted} round values that cover low to high. */
    static List<Double> ticks(double low, double high, int wanted) {
        double span = high > low ? high - low : Math.max(1, Math.abs(high));
        double raw = span / wanted;
        double power = Math.pow(10, Math.floor(Math.log10(raw)));
        double step = power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10);
        List<Double> ticks = new ArrayList<>();
        for (long i = (long) Math.floor(low / step); ticks.isEmpty() || ticks.getLast() < high - step * 1e-9; i++) {
            ticks.add(i * step);
        }
        if (ticks.size() == 1) {
            ticks.add(ticks.getFirst() + step);
        }
        return ticks;
    }

    /** Powers of ten that cover low to high, both above 0. */
    static List<Double> decades(double low, double high) {
        List<Double> ticks = new ArrayList<>();
        int first = (int) Math.floor(Math.log10(low));
        int last = (int) Math.ceil(Math.log10(high));
        for (int i = first; i <= Math.max(last, first + 1); i++) {
            ticks.add(Math.pow(10, i));
        }
        return ticks;
    }
}
