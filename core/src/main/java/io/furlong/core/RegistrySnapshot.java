package io.furlong.core;

import java.util.Collection;
import java.util.Map;
import java.util.Optional;

/**
 * All live adapters at one epoch, in registration order. Readers hold one and never lock; a newer one replaces it on every change.
 *
 * @param epoch    rises with every change
 * @param adapters by name, those that are not terminal
 */
public record RegistrySnapshot(long epoch, Map<String, Adapter> adapters) {
    public static final RegistrySnapshot EMPTY = new RegistrySnapshot(0, Map.of());

    public RegistrySnapshot {
        adapters = AdapterMap.copyOf(adapters);
    }

    public Optional<Adapter> find(String name) {
        return Optional.ofNullable(adapters.get(name));
    }

    /** The adapter only if it is still the same registration. */
    public Optional<Adapter> find(String name, RegistrationId registration) {
        return find(name).filter(a -> a.registration().equals(registration));
    }

    public Collection<Adapter> all() {
        return adapters.values();
    }
}
