package io.furlong.bench;

import io.furlong.control.store.Stores;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What the control plane itself costs, with engines, rewards and trainer that cost nothing: groups from the dispatcher over buffer and collector to
 * the transaction that commits their step, with 1 to 1,000 adapters; and reads of the registry while it changes.
 */
final class ControlBench {
    private static final int[] ADAPTERS = {1, 10, 100, 1000};
    private static final double GROUPS_A_SECOND = 20_000;
    private static final double MOST_COST = 1.3;
    private static final double NANOSECONDS = 100;
    private static final int READS = 2_000_000;

    /** Where steps are committed. */
    private enum Kind { MEMORY, SQLITE }

    private final int times;

    ControlBench(int times) {
        this.times = times;
    }

    List<Figure> run() throws Exception {
        List<Figure> figures = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            figures.addAll(groups(kind));
        }
        figures.add(reads());
        return figures;
    }

    /** The sizes take turns, so that what else the machine does meets them all alike. */
    private List<Figure> groups(Kind kind) throws Exception {
        List<List<Double>> rates = new ArrayList<>();
        for (int _ : ADAPTERS) {
            rates.add(new ArrayList<>());
        }
        for (int i = -1; i < times; i++) {
            for (int n = 0; n < ADAPTERS.length; n++) {
                double rate = groupsPerSecond(kind, ADAPTERS[n]);
                if (i >= 0) {
                    rates.get(n).add(rate);
                }
            }
        }
        List<Figure> figures = new ArrayList<>();
        List<Double> costs = new ArrayList<>();
        for (int n = 0; n < ADAPTERS.length; n++) {
            Figure f = Figure.of(String.format(Locale.ROOT, "control, committed to %s, %,d adapters: groups", kind.name().toLowerCase(Locale.ROOT), ADAPTERS[n]),
                    "1/s", rates.get(n));
            figures.add(kind == Kind.MEMORY ? f.atLeast(GROUPS_A_SECOND) : f);
        }
        for (int i = 0; i < times; i++) {
            costs.add(rates.getFirst().get(i) / rates.getLast().get(i));
        }
        figures.add(Figure.of("control, committed to " + kind.name().toLowerCase(Locale.ROOT) + ": cost a group, 1,000 adapters to 1", "ratio", costs)
                .atMost(MOST_COST));
        return figures;
    }

    private static double groupsPerSecond(Kind kind, int adapters) throws Exception {
        try (ScratchDirectory scratch = ScratchDirectory.create();
                ControlLoop loop = new ControlLoop(switch (kind) {
                    case MEMORY -> Stores.memory();
                    case SQLITE -> Stores.open(file(scratch.path()));
                }, adapters)) {
            return loop.groupsPerSecond();
        }
    }

    private static String file(Path directory) {
        return directory.resolve("control.db").toString();
    }

    /** A snapshot and one adapter out of a thousand by name, while another thread changes them as fast as it can. */
    private Figure reads() throws Exception {
        try (ControlLoop loop = new ControlLoop(Stores.memory(), 1000)) {
            AtomicBoolean over = new AtomicBoolean();
            Thread writer = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    loop.changeAll();
                }
            });
            try {
                return Figure.of("control: a registry read, 1,000 adapters, while they change", "ns", Repeat.rates(times, () -> {
                    long start = System.nanoTime();
                    loop.read(READS);
                    return (System.nanoTime() - start) / (double) READS;
                })).atMost(NANOSECONDS);
            } finally {
                over.set(true);
                writer.join();
            }
        }
    }
}
