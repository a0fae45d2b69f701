package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterConfig.Stragglers;
import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import io.furlong.rollout.RolloutLimits.Schedule;
import io.furlong.rollout.Simulation.World;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random schedules of generation, training, publish failures, vetoes, pauses, roll-backs, retirements, registrations of the same
 * name, changes of staleness, and crashes. {@link Simulation} checks on every event that no group is too old by what the engine
 * served, that a pinned version stays loaded, that batches hold what they may, that every row handed out is finished or open
 * exactly once; ledgers that don't add up can't be built at all.
 */
class RandomSchedulesTest {
    private static final List<String> NAMES = List.of("a", "b", "c", "d");

    @Test
    void nothingIsLostDoubledOrTooOldInAFewHundredSchedules() {
        schedules(0, 80, Duration.ofMinutes(8));
    }

    @Test
    @Tag("slow")
    void nothingIsLostDoubledOrTooOldInAThousandLongerSchedules() {
        schedules(10_000, 1_000, Duration.ofMinutes(30));
    }

    private static void schedules(long first, int count, Duration time) {
        int trained = 0;
        Set<String> seen = new HashSet<>();
        for (long seed = first; seed < first + count; seed++) {
            try {
                trained += schedule(seed, time, seen);
            } catch (AssertionError | RuntimeException e) {
                fail("schedule of seed " + seed, e);
            }
        }
        assertThat(trained).as("groups trained on average in a schedule").isGreaterThan(count * 100);
        assertThat(seen).as("what the schedules went through")
                .contains("stale", "retired", "requeued aborted", "requeued rollback", "requeued crash", "failed veto", "failed aborted", "filtered");
    }

    /** Groups trained. */
    private static int schedule(long seed, Duration time, Set<String> seen) {
        Random r = new Random(seed * 31 + 7);
        World world = new World(20 + r.nextInt(200), 0.2 + 1.5 * r.nextDouble(), 0.02, 0.01 * Math.pow(300, r.nextDouble()),
                0.05 * Math.pow(100, r.nextDouble()), r.nextInt(3) * 0.15, r.nextInt(3) * 0.3, r.nextInt(2) * 0.1, r.nextInt(2) * 0.3);
        int dataParallel = 1 << r.nextInt(3);
        RolloutLimits limits = new RolloutLimits(16 << r.nextInt(4), Duration.ofMillis(r.nextInt(2000)), Duration.ofSeconds(5), 64, dataParallel,
                r.nextInt(4), 4, Duration.ofMinutes(1), r.nextInt(5) == 0 ? Schedule.DETERMINISTIC : Schedule.ASYNCHRONOUS);
        Simulation s = new Simulation(seed, world, limits, 8 << r.nextInt(5), 5 + r.nextInt(60));
        Map<String, Integer> numbers = new HashMap<>();
        NAMES.forEach(n -> register(s, r, n, numbers));
        double seconds = time.toSeconds();
        for (int i = 0; i < 25; i++) {
            s.always(r.nextDouble() * seconds, () -> disturb(s, r, numbers));
        }
        s.run(time.plusMinutes(2));
        NAMES.forEach(n -> {
            if (s.registry.snapshot().find(n).isPresent()) {
                s.registry.state(n, AdapterState.RETIRING);
            }
        });
        s.run(Duration.ofHours(1));
        assertThat(s.streams.all()).as("streams of adapters that have ended").isEmpty();
        for (LedgerSnapshot l : s.lastLedgers.values()) {
            if (l.stale() > 0) {
                seen.add("stale");
            }
            if (l.retired() > 0) {
                seen.add("retired");
            }
            if (l.filteredTotal() > 0) {
                seen.add("filtered");
            }
            l.requeued().keySet().forEach(k -> seen.add("requeued " + k));
            l.failed().keySet().forEach(k -> seen.add("failed " + k));
        }
        return s.trained.size();
    }

    private static void register(Simulation s, Random r, String name, Map<String, Integer> numbers) {
        int n = List.of(1, 2, 4, 8).get(r.nextInt(4));
        Configs c = Configs.basic().shape(4 * (1 + r.nextInt(4)), n).staleness(r.nextInt(3)).weight(0.5 + r.nextInt(3))
                .stragglers(r.nextInt(3) == 0 ? Stragglers.DROP : Stragglers.WAIT).filter("zero_variance", r.nextInt(6));
        s.register(name, numbers.merge(name, 1, Integer::sum), c.build(), 5 + r.nextInt(200));
    }

    private static void disturb(Simulation s, Random r, Map<String, Integer> numbers) {
        String name = NAMES.get(r.nextInt(NAMES.size()));
        boolean live = s.live().contains(name);
        switch (r.nextInt(8)) {
            case 0, 1 -> {
                if (live) {
                    s.registry.state(name, AdapterState.RETIRING);
                }
                s.always(r.nextDouble() * 5, () -> {
                    if (!s.live().contains(name)) {
                        s.registry.remove(name);
                        register(s, r, name, numbers);
                    }
                });
            }
            case 2 -> {
                if (live) {
                    s.registry.state(name, AdapterState.PAUSED);
                    s.always(r.nextDouble() * 60, () -> {
                        if (s.live().contains(name)) {
                            s.registry.state(name, AdapterState.ACTIVE);
                        }
                    });
                }
            }
            case 3, 4 -> s.crash();
            case 5 -> {
                if (live && s.registry.get(name).step() > 2) {
                    s.rollBack(name, s.registry.get(name).step() - 1 - r.nextInt(2));
                }
            }
            default -> {
                if (live) {
                    s.registry.config(name, staleness(s.registry.get(name).config(), r.nextInt(3)));
                }
            }
        }
    }

    private static AdapterConfig staleness(AdapterConfig c, int k) {
        return new AdapterConfig(c.data(), c.reward(), c.rolloutBatchSize(), c.nSamplesPerPrompt(), c.lora(), c.sampling(), c.loss(),
                c.optimizer(), k, c.stragglers(), c.weight(), c.stop(), c.filters(), c.eval(), c.initFrom(), c.save(), c.metadata());
    }
}
