package io.furlong.rollout;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.AdapterConfig.Stragglers;
import io.furlong.core.LedgerSnapshot;
import io.furlong.rollout.RolloutLimits.Schedule;
import io.furlong.rollout.Simulation.TrainedGroup;
import io.furlong.rollout.Simulation.World;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.api.Test;

/** Whatever the speeds of generation, training and publishing: no group is too old, and none is dropped for being long. */
class StalenessTest {
    private static final int BATCH = 8;

    private static Simulation simulate(long seed, World world, int staleness, Stragglers stragglers) {
        Simulation s = new Simulation(seed, world, RolloutLimits.of(64, Schedule.ASYNCHRONOUS), 256, 50);
        s.register("a", 1, Configs.basic().shape(BATCH, 4).staleness(staleness).stragglers(stragglers).build(), 200);
        s.register("b", 1, Configs.basic().shape(16, 2).staleness(staleness).stragglers(stragglers).build(), 200);
        s.run(Duration.ofHours(2));
        return s;
    }

    private static World speeds(double train, double publish, double pushFails) {
        World w = World.calm();
        return new World(w.meanTokens(), w.sigma(), w.secondsPerToken(), train, publish, 0, pushFails, 0, 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void inDispatchOrderNothingGoesStaleAndEveryGroupDispatchedIsTrainedWhateverItsLength(int staleness) {
        for (World world : List.of(speeds(1, 0.5, 0), speeds(0.01, 5, 0), speeds(20, 0.1, 0), speeds(1, 2, 0.5), speeds(0.1, 10, 0.7))) {
            Simulation s = simulate(1 + staleness, world, staleness, Stragglers.WAIT);
            assertThat(s.trained).hasSizeGreaterThan(400);
            for (String name : List.of("a", "b")) {
                LedgerSnapshot ledger = s.lastLedgers.get(s.registry.get(name).registration());
                assertThat(ledger.stale()).isZero();
                assertThat(ledger.requeuedTotal()).isZero();
                List<Long> order = s.trained.stream().map(TrainedGroup::group).filter(g -> g.adapter().equals(name)).map(g -> g.dispatch()).toList();
                assertThat(order).isEqualTo(LongStream.range(0, order.size()).boxed().toList());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void generationRunsAheadAsFarAsStalenessAllows(int staleness) {
        Simulation s = simulate(5, speeds(2, 0.5, 0), staleness, Stragglers.WAIT);
        assertThat(s.trained.stream().mapToLong(g -> g.group().ageAt(g.step() - 1)).max()).hasValue(staleness);
    }

    @Test
    void overtakingDropsLongGroupsAndTheMeanLengthsSaySo() {
        World w = World.calm();
        World slowTail = new World(w.meanTokens(), 1.6, 0.1, 0.2, 0.2, 0, 0, 0, 0);
        Simulation s = simulate(3, slowTail, 1, Stragglers.DROP);
        AdapterStatistics a = s.streams.find(s.registry.get("a").registration()).orElseThrow().statistics(0, 0);
        assertThat(a.ledger().stale()).isPositive();
        assertThat(a.staleLength()).isGreaterThan(1.5 * a.trainedLength());
    }

    @Test
    void aWholeRunIsAPureFunctionOfItsSeed() {
        List<Long> first = simulate(9, speeds(1, 1, 0.3), 1, Stragglers.WAIT).trained.stream().map(g -> g.group().stamp().version()).toList();
        List<Long> second = simulate(9, speeds(1, 1, 0.3), 1, Stragglers.WAIT).trained.stream().map(g -> g.group().stamp().version()).toList();
        assertThat(second).isEqualTo(first);
    }
}
