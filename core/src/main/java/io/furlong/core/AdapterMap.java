package io.furlong.core;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Values by adapter name, immutable, in order of registration. A copy with one value replaced shares all but two small
 * arrays with the original, so that a change costs the same with ten adapters and with a thousand; adding or removing a
 * name, which is rare, copies.
 *
 * <p>Values lie in chunks of {@value #CHUNK}; the index from name to place is shared by all maps with the same names.
 */
public final class AdapterMap<V> extends AbstractMap<String, V> {
    private static final int CHUNK = 32;

    private final Map<String, Integer> places;
    private final String[] names;
    private final Object[][] chunks;

    private AdapterMap(Map<String, Integer> places, String[] names, Object[][] chunks) {
        this.places = places;
        this.names = names;
        this.chunks = chunks;
    }

    /** The same values in the map's order; the map itself if it is one already. */
    public static <V> AdapterMap<V> copyOf(Map<String, V> map) {
        if (map instanceof AdapterMap<V> same) {
            return same;
        }
        int size = map.size();
        Map<String, Integer> places = HashMap.newHashMap(size);
        String[] names = new String[size];
        Object[][] chunks = new Object[(size + CHUNK - 1) / CHUNK][];
        int i = 0;
        for (Entry<String, V> e : map.entrySet()) {
            if (i % CHUNK == 0) {
                chunks[i / CHUNK] = new Object[Math.min(CHUNK, size - i)];
            }
            places.put(e.getKey(), i);
            names[i] = e.getKey();
            chunks[i / CHUNK][i % CHUNK] = e.getValue();
            i++;
        }
        return new AdapterMap<>(places, names, chunks);
    }

    /** A map with this value under the name: in its old place, or last. */
    public AdapterMap<V> with(String name, V value) {
        Integer place = places.get(name);
        if (place == null) {
            Map<String, V> copy = new LinkedHashMap<>(this);
            copy.put(name, value);
            return copyOf(copy);
        }
        Object[][] spine = chunks.clone();
        Object[] chunk = spine[place / CHUNK].clone();
        chunk[place % CHUNK] = value;
        spine[place / CHUNK] = chunk;
        return new AdapterMap<>(places, names, spine);
    }

    public AdapterMap<V> without(String name) {
        if (!places.containsKey(name)) {
            return this;
        }
        Map<String, V> copy = new LinkedHashMap<>(this);
        copy.remove(name);
        return copyOf(copy);
    }

    public Optional<V> find(String name) {
        Integer place = places.get(name);
        return place == null ? Optional.empty() : Optional.of(at(place));
    }

    /** Values that are not the very same object under their name in an older map; where only values were replaced since, shared chunks are passed over. */
    public List<V> changedSince(AdapterMap<V> older) {
        List<V> changed = new ArrayList<>();
        if (sameNames(older)) {
            for (int c = 0; c < chunks.length; c++) {
                for (int i = 0; chunks[c] != older.chunks[c] && i < chunks[c].length; i++) {
                    if (chunks[c][i] != older.chunks[c][i]) {
                        changed.add(at(c * CHUNK + i));
                    }
                }
            }
            return changed;
        }
        for (int i = 0; i < names.length; i++) {
            if (older.get(names[i]) != at(i)) {
                changed.add(at(i));
            }
        }
        return changed;
    }

    /** True when no name was added or removed between the two, as far as can be told at a glance. */
    public boolean sameNames(AdapterMap<V> other) {
        return places == other.places;
    }

    @Override
    public @Nullable V get(Object name) {
        Integer place = places.get(name);
        return place == null ? null : at(place);
    }

    @Override
    public boolean containsKey(Object name) {
        return places.containsKey(name);
    }

    @Override
    public int size() {
        return names.length;
    }

    @Override
    public Set<Entry<String, V>> entrySet() {
        return new AbstractSet<>() {
            @Override
            public int size() {
                return names.length;
            }

            @Override
            public Iterator<Entry<String, V>> iterator() {
                return new Iterator<>() {
                    private int next;

                    @Override
                    public boolean hasNext() {
                        return next < names.length;
                    }

                    @Override
                    public Entry<String, V> next() {
                        if (next >= names.length) {
                            throw new NoSuchElementException();
                        }
                        int i = next++;
                        return Map.entry(names[i], at(i));
                    }
                };
            }
        };
    }

    @SuppressWarnings("unchecked")
    private V at(int place) {
        return (V) chunks[place / CHUNK][place % CHUNK];
    }
}
