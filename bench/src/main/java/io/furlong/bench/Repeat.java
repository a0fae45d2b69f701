package io.furlong.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** Measures a piece of work several times, after one repetition that doesn't count. */
final class Repeat {
    private Repeat() {}

    /** @param work returns its rate in units a second */
    static List<Double> rates(int times, Callable<Double> work) throws Exception {
        work.call();
        List<Double> rates = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            rates.add(work.call());
        }
        return rates;
    }

    static double seconds(long startNanos) {
        return (System.nanoTime() - startNanos) / 1e9;
    }
}
