package io.furlong.train;

import io.furlong.torch.LoraWeights;
import java.util.Iterator;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** An adapter's recent versions, as copies of its own: what samples may still have been made by. Used on the trainer's thread. */
final class WeightHistory implements AutoCloseable {
    private final SortedMap<Long, Entry> byVersion = new TreeMap<>();

    private record Entry(long step, LoraWeights weights) {}

    /** Takes {@code weights} into ownership and drops versions made before step {@code oldestStep}. */
    void add(long version, long step, LoraWeights weights, long oldestStep) {
        Entry previous = byVersion.put(version, new Entry(step, weights));
        if (previous != null) {
            previous.weights.close();
        }
        for (Iterator<Entry> it = byVersion.values().iterator(); it.hasNext();) {
            Entry e = it.next();
            if (e.step < oldestStep) {
                e.weights.close();
                it.remove();
            }
        }
    }

    Optional<LoraWeights> of(long version) {
        return Optional.ofNullable(byVersion.get(version)).map(Entry::weights);
    }

    @Override
    public void close() {
        byVersion.values().forEach(e -> e.weights.close());
        byVersion.clear();
    }
}
