package io.furlong.control;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterMap;
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

    /** The same registrations twice: as other rooms see them, and whole. */
    private record View(RegistrySnapshot snapshot, AdapterMap<Adapter> adapters, AdapterMap<Registration> records) {}

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
        this.view = view(0, AdapterMap.copyOf(adapters), AdapterMap.copyOf(records));
    }

    RegistrySnapshot snapshot() {
        return view.snapshot();
    }

    Collection<Registration> all() {
        return view.records().values();
    }

    Optional<Registration> find(String name) {
        return view.records().find(name);
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
        AdapterMap<Registration> records = view.records();
        AdapterMap<Adapter> adapters = view.adapters();
        for (Registration r : changed) {
            boolean ended = r.state().terminal();
            records = ended ? records.without(r.name()) : records.with(r.name(), r);
            adapters = ended ? adapters.without(r.name()) : adapters.with(r.name(), r.adapter());
        }
        View next = view(view.snapshot().epoch() + 1, adapters, records);
        view = next;
        listeners.forEach(l -> l.accept(next.snapshot()));
    }

    private static View view(long epoch, AdapterMap<Adapter> adapters, AdapterMap<Registration> records) {
        return new View(new RegistrySnapshot(epoch, adapters), adapters, records);
    }
}
