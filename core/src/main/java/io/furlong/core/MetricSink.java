package io.furlong.core;

import java.util.Map;

/** Where figures go: a file, Prometheus, a tracker. Found through {@code ServiceLoader}. Must not block. */
public interface MetricSink extends AutoCloseable {
    /**
     * @param adapter the adapter, or empty text for the run
     * @param step    the adapter's optimizer step, or the batch number for the run
     * @param values  by name, such as {@code reward_mean}, or with one label, such as {@code engine_logprob_gap_max{engine=http://…}}; units are in
     *                the names
     */
    void record(String adapter, long step, Map<String, Double> values);

    @Override
    default void close() {}
}
