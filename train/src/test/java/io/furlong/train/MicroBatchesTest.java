package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class MicroBatchesTest {
    private final Adapter first = Bench.adapter("first", Bench.config());
    private final Adapter second = Bench.adapter("second", Bench.config());
    private final Learner one = new LearnerStart(Bench.BASE.config(), first).from(new Start.Fresh(1));
    private final Learner two = new LearnerStart(Bench.BASE.config(), second).from(new Start.Fresh(2));

    @AfterEach
    void close() {
        one.close();
        two.close();
    }

    @ParameterizedTest
    @EnumSource(TrainerOptions.Order.class)
    void everyRowIsInOneAndNoneExceedsTheBudgetUnlessASampleDoes(TrainerOptions.Order order) {
        List<TrainingRow> rows = rows();
        for (int budget : new int[] {1, 20, 100, 100_000}) {
            List<List<TrainingRow>> cut = MicroBatches.of(rows, new TrainerOptions(order, budget, TrainerOptions.Gap.ONE_GROUP));
            assertThat(cut.stream().flatMap(List::stream)).containsExactlyInAnyOrderElementsOf(rows);
            assertThat(cut).allMatch(micro -> micro.size() == 1 || micro.stream().mapToInt(TrainingRow::length).sum() <= budget);
        }
    }

    @Test
    void byLengthMixesAdaptersButKeepsEachTogether() {
        List<List<TrainingRow>> cut = MicroBatches.of(rows(), new TrainerOptions(TrainerOptions.Order.BY_ADAPTER, 100, TrainerOptions.Gap.ONE_GROUP));
        assertThat(cut).anyMatch(micro -> micro.stream().map(TrainingRow::learner).distinct().count() == 2);
        for (List<TrainingRow> micro : cut) {
            List<Learner> runs = new ArrayList<>();
            micro.forEach(row -> {
                if (runs.isEmpty() || runs.getLast() != row.learner()) {
                    runs.add(row.learner());
                }
            });
            assertThat(runs).doesNotHaveDuplicates();
        }
        assertThat(cut.getFirst().stream().mapToInt(TrainingRow::length).min().orElseThrow())
                .isGreaterThanOrEqualTo(cut.getLast().stream().mapToInt(TrainingRow::length).max().orElseThrow());
    }

    @Test
    void byGroupNeverMixesGroupsAndKeepsTheirOrder() {
        List<TrainingRow> rows = rows();
        List<List<TrainingRow>> cut = MicroBatches.of(rows, TrainerOptions.DETERMINISTIC);
        assertThat(cut).hasSize(12);
        assertThat(cut.stream().flatMap(List::stream)).containsExactlyElementsOf(rows);
        assertThat(cut).allMatch(micro -> new LinkedHashSet<>(micro.stream().map(TrainingRow::group).toList()).size() == 1);
    }

    private List<TrainingRow> rows() {
        List<TrainingRow> rows = new ArrayList<>();
        add(rows, one, Bench.groups(first, 6, 4, 1, 0));
        add(rows, two, Bench.groups(second, 6, 4, 2, 0));
        return rows;
    }

    private static void add(List<TrainingRow> rows, Learner learner, List<Group> groups) {
        groups.forEach(g -> g.samples().forEach(s -> rows.add(TrainingRow.of(learner, g, s, 1))));
    }
}
