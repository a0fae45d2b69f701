package io.furlong.server;

import io.furlong.core.MetricSink;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The figures that the loop records, kept for the API: per adapter the newest value of each and the last rows.
 * Adapters seldom heard of are forgotten first.
 */
public final class Figures implements MetricSink {
    private static final int ROWS = 512;
    private static final int ADAPTERS = 2048;

    private final ReentrantLock lock = new ReentrantLock();
    /** Guarded by {@link #lock}; least recently recorded first. */
    private final LinkedHashMap<String, Rows> byAdapter = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Rows> eldest) {
            return size() > ADAPTERS;
        }
    };

    /** What was recorded at a step. */
    public record Row(long step, Map<String, Double> values) {
        public Row {
            values = Map.copyOf(values);
        }
    }

    private static final class Rows {
        private final ArrayDeque<Row> rows = new ArrayDeque<>();
        private final Map<String, Double> newest = new LinkedHashMap<>();
    }

    @Override
    public void record(String adapter, long step, Map<String, Double> values) {
        lock.lock();
        try {
            Rows r = byAdapter.computeIfAbsent(adapter, a -> new Rows());
            r.rows.addLast(new Row(step, values));
            r.newest.putAll(values);
            if (r.rows.size() > ROWS) {
                r.rows.removeFirst();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Forgets an adapter's figures: its name is given to a new registration. */
    void forget(String adapter) {
        lock.lock();
        try {
            byAdapter.remove(adapter);
        } finally {
            lock.unlock();
        }
    }

    /** The newest value of each figure; of the run under empty text. */
    Map<String, Double> newest(String adapter) {
        lock.lock();
        try {
            Rows r = byAdapter.get(adapter);
            return r == null ? Map.of() : Map.copyOf(r.newest);
        } finally {
            lock.unlock();
        }
    }

    /** Rows after a step, oldest first. */
    List<Row> rows(String adapter, long afterStep) {
        lock.lock();
        try {
            Rows r = byAdapter.get(adapter);
            return r == null ? List.of() : new ArrayList<>(r.rows.stream().filter(x -> x.step() > afterStep).toList());
        } finally {
            lock.unlock();
        }
    }
}
