package io.furlong.sglang;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.AdapterPublisher;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PublishException;
import io.furlong.core.PublishException.Blame;
import io.furlong.core.RegistrationId;
import io.furlong.sglang.Loading.Outcome;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings versions into force on a fleet.
 *
 * <p>The publish set is the engines that are ready when a publish starts. One that fails, or takes far longer than the others, leaves the
 * set and gets no traffic until it has caught up, so a hanging engine holds up nobody; the version comes into force when every other, at least one, holds it and its canary did not object. An answer
 * that is wrong on every engine that was tried is the adapter's fault, and costs no engine; wrong on some, those engines leave. The first
 * version of a registration goes to one engine alone first, since a bad adapter can end the process that serves it; when that happens
 * again and again, it is the adapter that fails.
 */
public final class FleetPublisher implements AdapterPublisher {
    /** So many engines down under one adapter are no coincidence. */
    private static final int MOST_DOWN = 3;
    /** One that needs so many times what half of the others needed is not waited for... */
    private static final int STRAGGLER = 2;
    /** ...but half a second more it always has. */
    private static final Duration LEAST_PATIENCE = Duration.ofMillis(500);
    private static final Logger LOG = LoggerFactory.getLogger(FleetPublisher.class);

    private final Fleet fleet;
    private final ModelShape model;
    /** How often an engine went down under the first version of a registration. */
    private final Map<RegistrationId, Integer> wentDown = new ConcurrentHashMap<>();

    /** @param model what adapters have to fit */
    public FleetPublisher(Fleet fleet, ModelShape model) {
        this.fleet = fleet;
        this.model = model;
    }

    @Override
    public void publish(AdapterArtifact artifact) throws PublishException, InterruptedException {
        HeldVersion version = check(artifact);
        List<Engine> set = new ArrayList<>(fleet.roster().ready());
        if (set.isEmpty()) {
            throw new PublishException(Blame.ENGINES, version.name() + ": no engine is ready: " + states());
        }
        Map<Engine, Outcome> outcomes = new LinkedHashMap<>();
        if (!fleet.roster().knows(version.stamp().registration())) {
            pilot(version, set, outcomes);
        }
        set.removeAll(outcomes.keySet());
        outcomes.putAll(loadAll(version, set, !outcomes.isEmpty()));
        conclude(version, outcomes);
    }

    private HeldVersion check(AdapterArtifact artifact) throws PublishException {
        try {
            HeldVersion version = HeldVersion.of(artifact);
            List<String> problems = PeftDirectory.problems(version.path(), artifact.rank(), model);
            if (!problems.isEmpty()) {
                throw new PublishException(Blame.ADAPTER, problems.getFirst() + (problems.size() > 1 ? " (and " + (problems.size() - 1) + " more)" : ""));
            }
            return version;
        } catch (IOException e) {
            throw new PublishException(Blame.ADAPTER, artifact.adapter() + ": the adapter directory could not be written: " + e.getMessage(), e);
        }
    }

    /** One engine after the other until one passes; two that refuse or go down under it are enough. */
    private void pilot(HeldVersion version, List<Engine> set, Map<Engine, Outcome> outcomes) throws PublishException, InterruptedException {
        for (Engine engine : set) {
            Outcome outcome = fleet.loading().load(engine, version);
            outcomes.put(engine, outcome);
            if (outcome instanceof Outcome.Loaded) {
                return;
            }
            if (outcomes.size() == 2) {
                conclude(version, outcomes);
            }
        }
        conclude(version, outcomes);
    }

    /** What came of it on one engine. */
    private record Done(Engine engine, Outcome outcome) {}

    /**
     * On all at once. Returns when all are done, or when some hold it and others take far longer than half of them did: those are not waited
     * for, and what comes of them is seen to when it comes.
     */
    private Map<Engine, Outcome> loadAll(HeldVersion version, List<Engine> set, boolean heldAlready) throws InterruptedException {
        BlockingQueue<Done> done = new LinkedBlockingQueue<>();
        List<Future<?>> running = new ArrayList<>();
        long start = System.nanoTime();
        for (Engine engine : set) {
            running.add(fleet.tasks().submit(() -> done.add(new Done(engine, load(version, engine)))));
        }
        Map<Engine, Outcome> outcomes = new LinkedHashMap<>();
        boolean held = heldAlready;
        OptionalLong patience = OptionalLong.empty();
        try {
            while (outcomes.size() < set.size()) {
                Done next = held && patience.isPresent() ? done.poll(patience.getAsLong() - System.nanoTime(), TimeUnit.NANOSECONDS) : done.take();
                if (next == null) {
                    leave(version, set.size() - outcomes.size(), done);
                    return outcomes;
                }
                outcomes.put(next.engine(), next.outcome());
                held |= next.outcome() instanceof Outcome.Loaded;
                if (patience.isEmpty() && 2 * outcomes.size() >= set.size()) {
                    long half = System.nanoTime() - start;
                    patience = OptionalLong.of(System.nanoTime() + Math.max(LEAST_PATIENCE.toNanos(), (STRAGGLER - 1) * half));
                }
            }
            return outcomes;
        } catch (InterruptedException e) {
            running.forEach(f -> f.cancel(true));
            throw e;
        }
    }

    private Outcome load(HeldVersion version, Engine engine) throws InterruptedException {
        try {
            return fleet.loading().load(engine, version);
        } catch (RuntimeException e) {
            LOG.error("Loading {} on {} failed", version.name(), engine, e);
            return new Outcome.Failed("fault in the load: " + e);
        }
    }

    /** Sees to stragglers once they are done. Having left the publish set they are not ready until they hold the version. */
    private void leave(HeldVersion version, int stragglers, BlockingQueue<Done> done) {
        LOG.info("{} comes into force without {} engine(s) that are slow to load it", version.name(), stragglers);
        fleet.tasks().submit(() -> {
            for (int i = 0; i < stragglers; i++) {
                Done late = done.take();
                count(late.outcome());
                if (late.outcome() instanceof Outcome.Loaded && !fleet.roster().requires(version.stamp())) {
                    fleet.roster().leftBehind(late.engine(), version, Roster.Taint.CLEAN);
                }
                seeTo(version, late.engine(), late.outcome());
            }
            return stragglers;
        });
    }

    private void conclude(HeldVersion version, Map<Engine, Outcome> outcomes) throws PublishException, InterruptedException {
        outcomes.values().forEach(this::count);
        List<Engine> passed = outcomes.entrySet().stream().filter(e -> e.getValue() instanceof Outcome.Loaded).map(Map.Entry::getKey).toList();
        if (!passed.isEmpty()) {
            wentDown.remove(version.stamp().registration());
            fleet.roster().bringIntoForce(version);
        }
        for (Map.Entry<Engine, Outcome> one : outcomes.entrySet()) {
            boolean fault = one.getValue() instanceof Outcome.Failed || one.getValue() instanceof Outcome.WentDown;
            if (fault || !passed.isEmpty()) {
                seeTo(version, one.getKey(), one.getValue());
            }
        }
        if (passed.isEmpty()) {
            throw verdict(version, outcomes);
        }
    }

    /** What an engine's outcome means for it when others hold the version. */
    private void seeTo(HeldVersion version, Engine engine, Outcome outcome) throws InterruptedException {
        switch (outcome) {
            case Outcome.Loaded l -> { }
            case Outcome.Failed(String reason) -> fleet.setAside(engine, reason);
            case Outcome.WentDown(String reason) -> fleet.setAside(engine, reason);
            case Outcome.Rejected(String reason) -> fleet.reject(engine, version.name() + ": " + reason);
            case Outcome.Unfit(String reason) -> fleet.reject(engine, version.name() + ": " + reason);
        }
    }

    private void count(Outcome outcome) {
        switch (outcome) {
            case Outcome.Loaded(Canary.Verdict verdict) -> fleet.counters().canary(verdict);
            case Outcome.Rejected r -> fleet.counters().canaryRejected();
            case Outcome.Unfit u -> { }
            case Outcome.Failed f -> { }
            case Outcome.WentDown w -> { }
        }
    }

    /** Nobody has it in force. Engines that could not even try say nothing about the adapter. */
    private PublishException verdict(HeldVersion version, Map<Engine, Outcome> outcomes) {
        List<String> wrong = new ArrayList<>();
        List<String> failed = new ArrayList<>();
        outcomes.forEach((engine, outcome) -> {
            switch (outcome) {
                case Outcome.Rejected(String reason) -> wrong.add(engine + ": " + reason);
                case Outcome.Unfit(String reason) -> wrong.add(engine + ": " + reason);
                case Outcome.Failed(String reason) -> failed.add(engine + ": " + reason);
                case Outcome.WentDown(String reason) -> {
                    failed.add(engine + ": " + reason);
                    wentDown.merge(version.stamp().registration(), 1, Integer::sum);
                }
                case Outcome.Loaded l -> { }
            }
        });
        int down = wentDown.getOrDefault(version.stamp().registration(), 0);
        if (down >= MOST_DOWN) {
            return new PublishException(Blame.ADAPTER, version.name() + ": " + down + " engines went down under it: " + String.join("; ", failed));
        }
        return wrong.isEmpty() ? new PublishException(Blame.ENGINES, version.name() + " could be loaded nowhere: " + String.join("; ", failed))
                : new PublishException(Blame.ADAPTER, version.name() + " was rejected by every engine that tried it: " + String.join("; ", wrong));
    }

    @Override
    public void release(PolicyStamp stamp) {
        fleet.roster().dismiss(stamp);
    }

    /** Adapters that fit beside each other on the engine with the fewest places; what no engine has said yet counts as none. */
    @Override
    public int adapterPlaces() {
        return fleet.engines().stream().flatMap(e -> e.facts().stream()).mapToInt(EngineFacts::places).min().orElse(0);
    }

    private String states() {
        return fleet.engines().stream().map(e -> e.url() + " " + e.state() + " (" + e.reason() + ")").toList().toString();
    }
}
