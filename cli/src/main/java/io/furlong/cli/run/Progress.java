package io.furlong.cli.run;

import io.furlong.cli.report.Figure;
import io.furlong.cli.report.LiveLine;
import io.furlong.cli.report.RunSummary.AdapterResult;
import io.furlong.cli.report.RunSummary.BeforeAfter;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.Registration;
import io.furlong.core.Adapter;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.MetricSink;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.rollout.AdapterStatistics;
import io.furlong.rollout.Evaluation;
import io.furlong.rollout.StepAccount;
import io.furlong.train.AdapterReport;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Supplier;

/**
 * What has become of each adapter so far, in figures: for the live view, the metric sinks and the summary. Safe for many threads.
 */
public final class Progress {
    private final MetricSink sink;
    /** In order of arrival; guarded by this. */
    private final Map<RegistrationId, Own> adapters = new LinkedHashMap<>();

    /** One registration's figures. */
    private static final class Own {
        private final String name;
        private BeforeAfter greedy = BeforeAfter.NONE;
        private BeforeAfter sampled = BeforeAfter.NONE;
        private OptionalDouble reward = OptionalDouble.empty();
        private long versions;
        private int staleness;
        private int oldest;
        private double gap;
        private LedgerSnapshot ledger = LedgerSnapshot.EMPTY;
        private long generated;
        private long trained;
        private Optional<Path> exported = Optional.empty();

        Own(String name) {
            this.name = name;
        }
    }

    public Progress(MetricSink sink) {
        this.sink = sink;
    }

    synchronized void arrived(String name, RegistrationId id) {
        own(name, id);
    }

    synchronized void trained(AdapterReport report) {
        Own o = own(report.adapter(), report.registration());
        report.gap().ifPresent(g -> o.gap = Math.max(o.gap, g.max()));
    }

    /** A step is committed. */
    synchronized void stepped(StepAccount account, AdapterReport report) {
        Own o = own(account.adapter(), account.registration());
        o.reward = OptionalDouble.of(account.meanReward());
        o.staleness = (int) account.maxAge();
        o.oldest = Math.max(o.oldest, o.staleness);
        o.generated = account.generatedTokens();
        o.trained = account.trainedTokens();
        o.ledger = account.ledger();
        Map<String, Double> figures = new HashMap<>(report.metrics());
        figures.put(Figure.REWARD_MEAN, account.meanReward());
        figures.put(Figure.RESPONSE_TOKENS_MEAN, account.meanLength());
        figures.put(Figure.STALENESS_MAX, (double) account.maxAge());
        sink.record(account.adapter(), account.step(), figures);
    }

    synchronized void inForce(String name, PolicyStamp stamp, Duration took) {
        own(name, stamp.registration()).versions++;
        sink.record(name, stamp.step(), Map.of(Figure.PUBLISH_SECONDS, took.toNanos() / 1e9));
    }

    synchronized void evaluated(Evaluation e) {
        Own o = own(e.adapter(), e.stamp().registration());
        o.greedy = next(o.greedy, e.greedyAccuracy());
        o.sampled = next(o.sampled, e.sampledAccuracy());
        Map<String, Double> figures = new HashMap<>(Map.of(Figure.EVAL_GREEDY, e.greedyAccuracy()));
        if (!Double.isNaN(e.sampledAccuracy())) {
            figures.put(Figure.EVAL_SAMPLED, e.sampledAccuracy());
        }
        sink.record(e.adapter(), e.stamp().step(), figures);
    }

    private static BeforeAfter next(BeforeAfter so, double share) {
        if (Double.isNaN(share)) {
            return so;
        }
        return so.before().isEmpty() ? new BeforeAfter(OptionalDouble.of(share), OptionalDouble.empty())
                : new BeforeAfter(so.before(), OptionalDouble.of(share));
    }

    synchronized void ended(RegistrationId id, LedgerSnapshot ledger) {
        Optional.ofNullable(adapters.get(id)).ifPresent(o -> o.ledger = ledger);
    }

    synchronized void exported(RegistrationId id, Path directory) {
        Optional.ofNullable(adapters.get(id)).ifPresent(o -> o.exported = Optional.of(directory));
    }

    private Own own(String name, RegistrationId id) {
        return adapters.computeIfAbsent(id, i -> new Own(name));
    }

    /** A line for each adapter of this run, ended ones included. */
    public List<LiveLine> lines(AdapterRegistry registry, Supplier<List<AdapterStatistics>> statistics) {
        Map<RegistrationId, AdapterStatistics> running = new HashMap<>();
        statistics.get().forEach(s -> running.put(s.registration(), s));
        List<LiveLine> lines = new ArrayList<>();
        synchronized (this) {
            adapters.forEach((id, o) -> {
                Optional<AdapterStatistics> s = Optional.ofNullable(running.get(id));
                s.ifPresent(x -> o.generated = x.generatedTokens());
                registry.find(o.name).filter(r -> r.id().equals(id)).map(Registration::adapter).ifPresent(a -> lines.add(line(a, o)));
            });
        }
        return lines;
    }

    private static LiveLine line(Adapter a, Own o) {
        return new LiveLine(a.name(), a.state(), a.step(), a.targetStep() == Integer.MAX_VALUE ? 0 : a.targetStep(), o.reward, o.staleness,
                a.inForce().map(PolicyStamp::version).orElse(0L), o.generated);
    }

    /** How each adapter ended. */
    public synchronized List<AdapterResult> results(AdapterRegistry registry) {
        List<AdapterResult> results = new ArrayList<>();
        adapters.forEach((id, o) -> registry.find(o.name).filter(r -> r.id().equals(id)).map(Registration::adapter).ifPresent(a ->
                results.add(new AdapterResult(o.name, a.state(), a.reason(), o.greedy, o.sampled, a.step(), o.versions, o.oldest, o.gap,
                        o.ledger, o.exported))));
        return results;
    }

    public synchronized long tokensGenerated() {
        return adapters.values().stream().mapToLong(o -> o.generated).sum();
    }

    public synchronized long tokensTrained() {
        return adapters.values().stream().mapToLong(o -> o.trained).sum();
    }
}
