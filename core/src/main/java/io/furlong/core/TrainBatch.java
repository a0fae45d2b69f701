package io.furlong.core;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The groups of one train call.
 *
 * @param groups    of all adapters, each adapter's in dispatch order and next to each other
 * @param stepping  adapters whose optimizer step is complete with this batch
 * @param epoch     the registry epoch it was assembled under; a newer one may only shrink it
 */
public record TrainBatch(List<Group> groups, Set<String> stepping, long epoch) {
    public TrainBatch {
        groups = List.copyOf(groups);
        stepping = Set.copyOf(stepping);
    }

    public boolean isEmpty() {
        return groups.isEmpty();
    }

    /** Groups per adapter, adapters in order of appearance. */
    public Map<String, List<Group>> byAdapter() {
        Map<String, List<Group>> m = new LinkedHashMap<>();
        for (Group g : groups) {
            m.computeIfAbsent(g.adapter(), k -> new ArrayList<>()).add(g);
        }
        return m;
    }

    public int samples() {
        return groups.stream().mapToInt(g -> g.samples().size()).sum();
    }
}
