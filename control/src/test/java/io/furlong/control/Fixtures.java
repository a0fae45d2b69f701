package io.furlong.control;

import io.furlong.core.AdapterConfig;
import io.furlong.core.Cursor;
import io.furlong.core.DataConfig;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.RewardConfig;
import io.furlong.core.SamplingConfig;
import io.furlong.core.StepCommit;
import io.furlong.core.StopRule;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** Values that tests need. */
final class Fixtures {
    private Fixtures() {}

    static AdapterConfig config(String name, StopRule stop, int maxStaleness) {
        return new AdapterConfig(
                new DataConfig(Path.of("/data/" + name + ".jsonl"), "prompt", Optional.of("answer"), Optional.empty(), DataConfig.Template.AS_IS,
                        DataConfig.Order.SHUFFLED, OptionalInt.empty()),
                new RewardConfig(Optional.of("exact"), Optional.empty(), Duration.ofSeconds(5)), 4, 2, new LoraConfig(8, 16, LoraConfig.ALL_LINEAR),
                SamplingConfig.at(1, 16), LossConfig.DEFAULT, OptimizerConfig.DEFAULT, maxStaleness, AdapterConfig.Stragglers.WAIT, 1, stop, List.of(),
                Optional.empty(), Optional.empty(), Path.of("/save/" + name), Map.of());
    }

    static AdapterConfig config(String name) {
        return config(name, StopRule.steps(100), 1);
    }

    static AdapterRegistry.Request request(String name) {
        return new AdapterRegistry.Request("acme", name, config(name), AdapterRegistry.Request.WhenFull.REFUSE);
    }

    static Limits limits(int adapters) {
        return Limits.of(adapters, () -> 1000);
    }

    static AdapterRegistry registry(Store store, Limits limits, InstantSource clock) {
        return AdapterRegistry.open(limits, List.of(), store, clock, new VersionDirectories(List.of()));
    }

    static PolicyStamp stamp(String name, RegistrationId id, long version, long step) {
        String digest = String.format("%064x", version * 31 + step);
        return new PolicyStamp(id, version, step, digest, PolicyStamp.versionedName(name, id, version, digest));
    }

    static StepCommit commit(String name, PolicyStamp stamp) {
        LedgerSnapshot ledger = new LedgerSnapshot(stamp.step() * 4 + 2, 2, 0, 0, stamp.step() * 4, Map.of(), 0, 0, Map.of(), Map.of());
        return new StepCommit(name, stamp, Path.of("/checkpoints/" + stamp.servedName()), "c".repeat(64), ledger,
                new Cursor("f", 0, stamp.step() * 4 + 2, List.of(new Cursor.OpenRow(0, 1, 0, 0)), stamp.step() * 4), stamp.step() * 100,
                stamp.step() * 90);
    }

    /** Registers and brings the first version into force. */
    static Registration active(AdapterRegistry registry, String name) throws Exception {
        Registration r = registry.register(request(name));
        step(registry, r, 0);
        return registry.live(name).orElseThrow();
    }

    /** Commits a step and brings it into force. */
    static PolicyStamp step(AdapterRegistry registry, Registration r, long step) throws Exception {
        PolicyStamp stamp = stamp(r.name(), r.id(), registry.nextVersion(r.id()), step);
        registry.commit(commit(r.name(), stamp));
        registry.inForce(stamp);
        return stamp;
    }

    /** Takes a registration from wherever it is to its end. */
    static void end(AdapterRegistry registry, Registration r) throws Exception {
        registry.retire(r.name(), Retirement.Mode.NOW, Retirement.Cause.USER, "");
        registry.stopped(r.id());
        registry.cleaned(r.id());
    }

    /** A clock that moves when told. */
    static final class Clock implements InstantSource {
        private volatile Instant now = Instant.parse("2026-01-01T00:00:00Z");

        @Override
        public Instant instant() {
            return now;
        }

        void advance(Duration by) {
            now = now.plus(by);
        }
    }
}
