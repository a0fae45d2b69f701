package io.furlong.server;

import io.furlong.core.Adapter;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.RegistryView;
import java.util.HashMap;
import java.util.Map;

/** Forgets the figures of a name when a new registration takes it. Called on the registry's writer thread only. */
final class FreshNames {
    private final Figures figures;
    private Map<String, RegistrationId> known = Map.of();

    FreshNames(Figures figures) {
        this.figures = figures;
    }

    RegistryView.Subscription subscribe(RegistryView registry) {
        known = ids(registry.snapshot());
        return registry.onChange(this::look);
    }

    /** One change adds or removes at most one registration, so an equal count means that no name changed hands. */
    private void look(RegistrySnapshot snapshot) {
        if (snapshot.adapters().size() == known.size()) {
            return;
        }
        Map<String, RegistrationId> now = ids(snapshot);
        now.forEach((name, id) -> {
            if (!id.equals(known.get(name))) {
                figures.forget(name);
            }
        });
        known = now;
    }

    private static Map<String, RegistrationId> ids(RegistrySnapshot snapshot) {
        Map<String, RegistrationId> ids = new HashMap<>();
        for (Adapter a : snapshot.all()) {
            ids.put(a.name(), a.registration());
        }
        return ids;
    }
}
