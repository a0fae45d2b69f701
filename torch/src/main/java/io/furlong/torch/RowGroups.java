package io.furlong.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The rows of a decode step by adapter, those of the base last.
 *
 * @param adapters the adapters that occur
 * @param rows     their rows
 * @param base     rows of the base
 */
record RowGroups(List<LoraWeights> adapters, List<List<Integer>> rows, List<Integer> base) {
    /** A product over so many rows takes about as long as one over a single row: calling it is most of it. */
    private static final int FEW_ROWS = 32;

    static RowGroups of(List<Optional<LoraWeights>> loras) {
        Map<LoraWeights, List<Integer>> byAdapter = new LinkedHashMap<>();
        List<Integer> base = new ArrayList<>();
        for (int row = 0; row < loras.size(); row++) {
            loras.get(row).map(lora -> byAdapter.computeIfAbsent(lora, _ -> new ArrayList<>())).orElse(base).add(row);
        }
        return new RowGroups(List.copyOf(byAdapter.keySet()), List.copyOf(byAdapter.values()), base);
    }

    /** Rows of the largest group. */
    int largest() {
        return rows.stream().mapToInt(List::size).max().orElse(0);
    }

    /**
     * Whether the groups can be computed as one batched product: padding all to the largest adds at most a quarter or costs nothing among so few rows, and their
     * weights stay as they are, so that copies of them stay true.
     */
    boolean areEven() {
        if (adapters.stream().anyMatch(LoraWeights::isTrainable)) {
            return false;
        }
        int padded = adapters.size() * largest() + base.size();
        return !adapters.isEmpty() && (padded <= FEW_ROWS || 4 * padded <= 5 * (rows.stream().mapToInt(List::size).sum() + base.size()));
    }

    /** The row at each place when groups stand one after another. */
    int[] inOrder() {
        List<Integer> order = new ArrayList<>();
        rows.forEach(order::addAll);
        order.addAll(base);
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    /** The same with every group as long as the largest: its last row stands there several times, which computes and stores the same values several times. */
    int[] inOrderPadded() {
        List<Integer> order = new ArrayList<>();
        for (List<Integer> group : rows) {
            order.addAll(group);
            for (int i = group.size(); i < largest(); i++) {
                order.add(group.getLast());
            }
        }
        order.addAll(base);
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    /** The segments of {@link #inOrder}. */
    List<SegmentAdapters.Segment> segments() {
        List<SegmentAdapters.Segment> segments = new ArrayList<>();
        for (int i = 0; i < adapters.size(); i++) {
            segments.add(new SegmentAdapters.Segment(rows.get(i).size(), Optional.of(adapters.get(i))));
        }
        if (!base.isEmpty()) {
            segments.add(new SegmentAdapters.Segment(base.size(), Optional.empty()));
        }
        return segments;
    }

    /** For each of {@code rows} rows a place where it stands in {@code order}. */
    static int[] places(int[] order, int rows) {
        int[] places = new int[rows];
        for (int i = 0; i < order.length; i++) {
            places[order[i]] = i;
        }
        return places;
    }

    /** Whether every row stands at its own place. */
    static boolean isIdentity(int[] order) {
        int[] identity = new int[order.length];
        Arrays.setAll(identity, i -> i);
        return Arrays.equals(order, identity);
    }
}
