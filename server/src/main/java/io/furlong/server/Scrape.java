package io.furlong.server;

import io.furlong.control.AdapterRegistry;
import io.furlong.control.LedgerView;
import io.furlong.control.PublishLane;
import io.furlong.control.Registration;
import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PublishException;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;

/**
 * What Prometheus gets. Every scrape is built from one registry snapshot and one ledger snapshot an adapter, so that the
 * parts of a ledger add up in it. A tenant sees the lines of its own adapters.
 */
final class Scrape implements PublishLane.Listener {
    private final PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final AdapterRegistry registry;
    private final LedgerView ledgers;
    private final Figures figures;
    private final ReentrantLock lock = new ReentrantLock();
    /** Guarded by {@link #lock}. */
    private final Map<String, MultiGauge> gauges = new HashMap<>();

    Scrape(AdapterRegistry registry, LedgerView ledgers, Figures figures) {
        this.registry = registry;
        this.ledgers = ledgers;
        this.figures = figures;
    }

    PrometheusMeterRegistry meters() {
        return meters;
    }

    @Override
    public void inForce(String adapter, PolicyStamp stamp, Duration took) {
        meters.timer("furlong.publish", "adapter", adapter).record(took);
    }

    @Override
    public void failed(String adapter, PolicyStamp stamp, PublishException problem) {
        meters.counter("furlong.publish.failures", "adapter", adapter, "blame", problem.blame().name().toLowerCase(java.util.Locale.ROOT)).increment();
    }

    String text(Access.Caller caller) {
        lock.lock();
        try {
            fill();
            String all = meters.scrape();
            return caller.only().map(tenant -> of(tenant, all)).orElse(all);
        } finally {
            lock.unlock();
        }
    }

    private void fill() {
        Map<String, List<MultiGauge.Row<?>>> rows = new HashMap<>();
        gauges.keySet().forEach(name -> rows.put(name, new ArrayList<>()));
        for (AdapterState state : AdapterState.values()) {
            long count = registry.live().stream().filter(r -> r.state() == state).count();
            if (!state.terminal()) {
                row(rows, "furlong.adapters", count, "state", state.name().toLowerCase(java.util.Locale.ROOT));
            }
        }
        for (Registration r : registry.live()) {
            row(rows, "furlong.adapter.step", r.progress().step(), "adapter", r.name());
            row(rows, "furlong.adapter.target.step", r.progress().targetStep(), "adapter", r.name());
            row(rows, "furlong.adapter.version", r.progress().inForce().map(PolicyStamp::version).orElse(0L), "adapter", r.name());
            row(rows, "furlong.adapter.accumulated.groups", r.accumulated(), "adapter", r.name());
            row(rows, "furlong.adapter.generated.tokens", r.progress().generatedTokens(), "adapter", r.name());
            row(rows, "furlong.adapter.trained.tokens", r.progress().trainedTokens(), "adapter", r.name());
            ledgers.ledger(r.id()).ifPresent(l -> ledger(rows, r.name(), l));
            figures.newest(r.name()).forEach((key, value) -> figure(rows, key, value, r.name()));
        }
        figures.newest("").forEach((key, value) -> row(rows, "furlong.run." + key, value));
        rows.forEach((name, values) -> gauges.computeIfAbsent(name, n -> MultiGauge.builder(n).register(meters)).register(values, true));
    }

    private static void ledger(Map<String, List<MultiGauge.Row<?>>> rows, String adapter, LedgerSnapshot l) {
        row(rows, "furlong.dispatched.groups", l.dispatched(), "adapter", adapter);
        Map<String, Long> plain = Map.of("in_flight", l.inFlight(), "buffered", l.buffered(), "training", l.training(), "trained", l.trained(),
                "stale", l.stale(), "retired", l.retired());
        plain.forEach((where, n) -> row(rows, "furlong.groups", n, "adapter", adapter, "where", where, "reason", ""));
        Map<String, Map<String, Long>> reasons = Map.of("filtered", l.filtered(), "requeued", l.requeued(), "failed", l.failed());
        reasons.forEach((where, by) -> by.forEach((reason, n) ->
                row(rows, "furlong.groups", n, "adapter", adapter, "where", where, "reason", reason)));
    }

    /** A figure's name, and its label if it has one: {@code name{label=value}}. */
    private static void figure(Map<String, List<MultiGauge.Row<?>>> rows, String key, double value, String adapter) {
        int label = key.indexOf('{');
        int equals = key.indexOf('=', label);
        if (label < 0 || equals < 0 || !key.endsWith("}")) {
            row(rows, "furlong." + key, value, "adapter", adapter);
        } else {
            row(rows, "furlong." + key.substring(0, label), value, "adapter", adapter, key.substring(label + 1, equals), key.substring(equals + 1, key.length() - 1));
        }
    }

    private static void row(Map<String, List<MultiGauge.Row<?>>> rows, String name, Number value, String... tags) {
        rows.computeIfAbsent(name, n -> new ArrayList<>()).add(MultiGauge.Row.of(Tags.of(tags), value));
    }

    /** The lines of one tenant's adapters; what has no adapter belongs to the operator. */
    private String of(String tenant, String all) {
        List<String> own = registry.live().stream().filter(r -> r.tenant().equals(tenant)).map(r -> "adapter=\"" + r.name() + "\"").toList();
        return all.lines().filter(line -> line.startsWith("#") || Optional.of(line).filter(l -> own.stream().anyMatch(l::contains)).isPresent())
                .collect(Collectors.joining("\n", "", "\n"));
    }
}
