package io.furlong.train;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Cuts the rows of a train call into micro-batches under a token budget; every row is in exactly one. */
final class MicroBatches {
    private MicroBatches() {}

    /** Micro-batches in the order they run; within one, rows of an adapter are next to each other. */
    static List<List<TrainingRow>> of(List<TrainingRow> rows, TrainerOptions options) {
        return switch (options.order()) {
            case BY_ADAPTER -> byAdapter(rows, options.tokensPerMicroBatch());
            case BY_GROUP -> byGroup(rows, options.tokensPerMicroBatch());
        };
    }

    private static List<List<TrainingRow>> byAdapter(List<TrainingRow> rows, int budget) {
        List<Learner> order = rows.stream().map(TrainingRow::learner).distinct().toList();
        List<TrainingRow> sorted = new ArrayList<>(rows);
        sorted.sort(Comparator.<TrainingRow>comparingInt(row -> order.indexOf(row.learner())).thenComparing(TrainingRow::length, Comparator.reverseOrder()));
        return cut(sorted, budget);
    }

    private static List<List<TrainingRow>> byGroup(List<TrainingRow> rows, int budget) {
        List<List<TrainingRow>> all = new ArrayList<>();
        int from = 0;
        for (int to = 1; to <= rows.size(); to++) {
            if (to == rows.size() || rows.get(to).group() != rows.get(from).group()) {
                all.addAll(cut(rows.subList(from, to), budget));
                from = to;
            }
        }
        return all;
    }

    private static List<List<TrainingRow>> cut(List<TrainingRow> rows, int budget) {
        List<List<TrainingRow>> all = new ArrayList<>();
        int used = 0;
        for (TrainingRow row : rows) {
            if (all.isEmpty() || used + row.length() > budget) {
                all.add(new ArrayList<>());
                used = 0;
            }
            all.getLast().add(row);
            used += row.length();
        }
        return all;
    }
}
