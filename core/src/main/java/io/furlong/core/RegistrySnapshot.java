package io.furlong.core;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * All live adapters at one epoch, in registration order. Readers hold one and never lock; a newer one replaces it on every change.
 *
 * @param epoch    rises with every change
 * @param adapters by name, those that are not terminal
 */
public record RegistrySnapshot(long epoch, AdapterMap<Adapter> adapters) {
    public static final RegistrySnapshot EMPTY = new RegistrySnapshot(0, Map.of());

    public RegistrySnapshot(long epoch, Map<String, Adapter> adapters) {
        this(epoch, AdapterMap.copyOf(adapters));
    }

    public Optional<Adapter> find(String name) {
        return adapters.find(name);
    }

    /** The adapter only if it is still the same registration. */
    public Optional<Adapter> find(String name, RegistrationId registration) {
        return find(name).filter(a -> a.registration().equals(registration));
    }

    public Collection<Adapter> all() {
        return adapters.values();
    }

    /** Adapters that are new or differ from what they were in an older snapshot; costs next to nothing per adapter that doesn't. */
    public List<Adapter> changedSince(RegistrySnapshot older) {
        return adapters.changedSince(older.adapters);
    }

    /** Adapters of an older snapshot whose registrations are not here any more, as they were there. */
    public List<Adapter> goneSince(RegistrySnapshot older) {
        Collection<Adapter> candidates = adapters.sameNames(older.adapters)
                ? changedSince(older).stream().flatMap(a -> older.find(a.name()).stream()).toList() : older.all();
        return candidates.stream().filter(a -> find(a.name(), a.registration()).isEmpty()).toList();
    }
}
