package io.furlong.sglang;

import io.furlong.sglang.Roster.Taint;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.LoraReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Brings one version to one engine, proves that it is applied there, and books what is on the engine then. All of it happens under the
 * engine's load lock, so that a listing taken between two loads agrees with the books.
 */
final class Loading {
    private final Roster roster;
    private final FleetConfig config;
    private final BeforeLoad beforeLoad;

    Loading(Roster roster, FleetConfig config, BeforeLoad beforeLoad) {
        this.roster = roster;
        this.config = config;
        this.beforeLoad = beforeLoad;
    }

    /** Makes room: runs under the engine's load lock before each load, so that what is not needed never piles up behind many publishes. */
    interface BeforeLoad {
        void run(Engine engine) throws InterruptedException;
    }

    /** What came of it. */
    sealed interface Outcome {
        /** It is there and the canary did not object. */
        record Loaded(Canary.Verdict verdict) implements Outcome {}

        /** The engine holds it but answers wrongly under it. */
        record Rejected(String reason) implements Outcome {}

        /** The engine said no, for a reason that lies in the adapter: it would say so anywhere. */
        record Unfit(String reason) implements Outcome {}

        /** The engine could not: unreachable, too slow, does not see the directory, full. */
        record Failed(String reason) implements Outcome {}

        /** The engine went down while it answered the first requests under the adapter; it may be the adapter that did it. */
        record WentDown(String reason) implements Outcome {}
    }

    /** Waits for other loads and unloads on the engine; the whole takes twice the load deadline at most, once for the load and once for the canary. */
    Outcome load(Engine engine, HeldVersion version) throws InterruptedException {
        Deadline deadline = Deadline.in(config.loadDeadline());
        if (!engine.loads.tryLock(deadline.left().toNanos(), TimeUnit.NANOSECONDS)) {
            return new Outcome.Failed("another load or unload still runs after " + config.loadDeadline());
        }
        try {
            return loadLocked(engine, version, deadline);
        } finally {
            engine.loads.unlock();
        }
    }

    private Outcome loadLocked(Engine engine, HeldVersion version, Deadline deadline) throws InterruptedException {
        beforeLoad.run(engine);
        EngineState state = roster.state(engine);
        if (state == EngineState.OUT || state == EngineState.SUSPECT) {
            return new Outcome.Failed("was set aside before " + version.name() + " had its turn");
        }
        Taint taint = Taint.CLEAN;
        try {
            LoraReply reply = engine.client.loadAdapter(request(version), deadline.left());
            if (!reply.success()) {
                String message = reply.errorMessage().orElse("no reason given");
                if (!listsIt(engine, version, deadline)) {
                    return liesInAdapter(message) ? new Outcome.Unfit(message) : new Outcome.Failed("refused to load " + version.name() + ": " + message);
                }
                taint = Taint.TAINTED;
            }
        } catch (EngineException e) {
            if (e.kind() != EngineException.Kind.UNREACHABLE) {
                roster.leftBehind(engine, version, Taint.TAINTED);
            }
            return new Outcome.Failed(e.getMessage());
        }
        Outcome outcome = prove(engine, version);
        switch (outcome) {
            case Outcome.Loaded l -> roster.loaded(engine, version, taint);
            case Outcome.Rejected r -> roster.leftBehind(engine, version, taint);
            case Outcome.Unfit u -> { }
            case Outcome.Failed f -> roster.leftBehind(engine, version, Taint.TAINTED);
            case Outcome.WentDown w -> roster.leftBehind(engine, version, Taint.TAINTED);
        }
        return outcome;
    }

    private Outcome prove(Engine engine, HeldVersion version) throws InterruptedException {
        Canary.Engines kind = engine.facts.map(EngineFacts::embedded).orElse(false) ? Canary.Engines.EMBEDDED : Canary.Engines.OTHER;
        try {
            Canary.Reading reading = Canary.read(engine.client, version, config.loadDeadline());
            Canary.Verdict verdict = Canary.judge(version, reading, roster.noise(engine), kind);
            Optional<NoiseFloor> noise = verdict instanceof Canary.Verdict.Inconclusive(double gap, NoiseFloor seen, Canary.Verdict.Effect effect)
                    && effect == Canary.Verdict.Effect.NONE ? Optional.of(seen) : Optional.empty();
            roster.measured(engine, noise, verdict.gap());
            return verdict instanceof Canary.Verdict.Rejected(double gap, String reason) ? new Outcome.Rejected(reason)
                    : new Outcome.Loaded(verdict);
        } catch (Canary.Unanswered e) {
            return new Outcome.Failed("canary of " + version.name() + ": " + e.getMessage());
        } catch (EngineException e) {
            String why = "canary of " + version.name() + ": " + e.getMessage();
            return switch (e.kind()) {
                case UNREADABLE -> new Outcome.Rejected(e.getMessage());
                case DROPPED, UNREACHABLE -> new Outcome.WentDown(why);
                case BAD_REQUEST, UNKNOWN_ADAPTER, UNAUTHORIZED, NOT_FOUND, OVERLOADED, SERVER_FAULT, GATEWAY, IN_STREAM, TIMED_OUT, CANCELLED -> new Outcome.Failed(why);
            };
        }
    }

    private LoadLoraRequest request(HeldVersion version) {
        String path = version.path().toString();
        return config.publish() == FleetConfig.Publish.SLOT ? LoadLoraRequest.upsert(version.name(), path, version.stamp().version())
                : LoadLoraRequest.of(version.name(), path);
    }

    /** "Already loaded" means ours only if the same directory, whose name holds the digest, is behind the name. */
    private boolean listsIt(Engine engine, HeldVersion version, Deadline deadline) throws EngineException, InterruptedException {
        Map<String, String> paths = engine.client.adapters(deadline.left());
        return paths.containsKey(version.name()) && Path.of(paths.get(version.name())).equals(version.path());
    }

    /** SGLang's wordings for adapters that no engine of this configuration would take. */
    private static boolean liesInAdapter(String message) {
        return message.contains("is incompatible with the current LoRA memory pool") || message.contains("doesn't support DoRA")
                || message.contains("add tokens to the vocabulary") || message.contains("peft_type");
    }

    /** A point in time that several waits share. */
    record Deadline(long nanos) {
        static Deadline in(Duration time) {
            return new Deadline(System.nanoTime() + time.toNanos());
        }

        Duration left() {
            return Duration.ofNanos(Math.max(0, nanos - System.nanoTime()));
        }
    }
}
