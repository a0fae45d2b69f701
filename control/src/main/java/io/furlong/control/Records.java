package io.furlong.control;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterState;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.RegistryView.Subscription;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * The live registrations. A change is durable, then visible, then told: in that order, one change at a time, under
 * {@link #writer}. Readers load one volatile field and take no lock.
 */
final class Records {
    /** Held by whoever changes something, from reading the old state to the last listener. */
    final ReentrantLock writer = new ReentrantLock();
    private final Store store;
    private final EventFeed feed;
    private final List<Consumer<RegistrySnapshot>> listeners = new CopyOnWriteArrayList<>();
    /** Names of live registrations; written with {@link #writer} held. */
    private final Map<RegistrationId, String> names = new ConcurrentHashMap<>();
    private volatile View view;

    /** @param records by name, in order of registration */
    private record View(RegistrySnapshot snapshot, Map<String, Registration> records) {}

    /** Starts with what the store holds; groups accumulated by a process that is gone are gone with it. */
    Records(Store store, EventFeed feed) {
        this.store = store;
        this.feed = feed;
        Map<String, Registration> records = new LinkedHashMap<>();
        Map<String, Adapter> adapters = new LinkedHashMap<>();
        for (Registration stored : store.live()) {
            Registration r = stored.withAccumulated(0);
            records.put(r.name(), r);
            adapters.put(r.name(), r.adapter());
            names.put(r.id(), r.name());
        }
        this.view = new View(new RegistrySnapshot(0, adapters), records);
    }

    RegistrySnapshot snapshot() {
        return view.snapshot();
    }

    Collection<Registration> all() {
        return view.records().values();
    }

    Optional<Registration> find(String name) {
        return Optional.ofNullable(view.records().get(name));
    }

    Optional<Registration> find(RegistrationId id) {
        String name = names.get(id);
        return name == null ? Optional.empty() : find(name).filter(r -> r.id().equals(id));
    }

    Subscription onChange(Consumer<RegistrySnapshot> listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    /** Writes one change through. Call with {@link #writer} held. */
    void write(Change change) {
        List<ControlEvent> events = store.write(change);
        Registration r = change.registration();
        if (r.state().terminal()) {
            names.remove(r.id());
        } else {
            names.put(r.id(), r.name());
        }
        show(List.of(r));
        feed.publish(events);
    }

    /** Shows what is not durable. Call with {@link #writer} held. */
    void showOnly(Collection<Registration> ids, UnaryOperator<Registration> change) {
        show(ids.stream().map(change).toList());
    }

    private void show(List<Registration> changed) {
        Map<String, Registration> records = new LinkedHashMap<>(view.records());
        Map<String, Adapter> adapters = new LinkedHashMap<>(view.snapshot().adapters());
        for (Registration r : changed) {
            AdapterState state = r.state();
            if (state.terminal()) {
                records.remove(r.name());
                adapters.remove(r.name());
            } else {
                records.put(r.name(), r);
                adapters.put(r.name(), r.adapter());
            }
        }
        RegistrySnapshot next = new RegistrySnapshot(view.snapshot().epoch() + 1, adapters);
        view = new View(next, records);
        listeners.forEach(l -> l.accept(next));
    }
}
