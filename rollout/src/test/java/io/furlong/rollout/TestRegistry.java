package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterState;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.RegistryView;
import io.furlong.core.Seeds;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** A registry in memory: changes come one at a time and are told at once. */
final class TestRegistry implements RegistryView {
    private static final AtomicLong COUNT = new AtomicLong();

    private final List<Consumer<RegistrySnapshot>> listeners = new ArrayList<>();
    private volatile RegistrySnapshot now = RegistrySnapshot.EMPTY;

    /** As after a restart: adapters are there before the first change. */
    synchronized void startWith(Adapter a) {
        now = new RegistrySnapshot(0, Map.of(a.name(), a));
    }

    /** A registration id that is the same in each run with the same name and number. */
    static RegistrationId registration(String name, int number) {
        return new RegistrationId("%016x%016x".formatted(Seeds.of(name), Seeds.of(name, number)));
    }

    static PolicyStamp stamp(String name, RegistrationId registration, long version, long step) {
        String digest = "%016x".formatted(Seeds.of(registration, version)).repeat(4);
        return new PolicyStamp(registration, version, step, digest, PolicyStamp.versionedName(name, registration, version, digest));
    }

    Adapter activate(String name, AdapterConfig config) {
        return activate(name, registration(name, (int) COUNT.incrementAndGet()), config, Integer.MAX_VALUE);
    }

    Adapter activate(String name, RegistrationId registration, AdapterConfig config, long targetStep) {
        Adapter a = active(name, registration, config, targetStep);
        put(a);
        return a;
    }

    static Adapter active(String name, RegistrationId registration, AdapterConfig config, long targetStep) {
        return new Adapter(name, registration, 0, AdapterState.ACTIVE, Optional.of(stamp(name, registration, 1, 0)), 0, targetStep, 0, config, "");
    }

    synchronized void put(Adapter a) {
        Map<String, Adapter> all = new LinkedHashMap<>(now.adapters());
        all.put(a.name(), a);
        publish(all);
    }

    synchronized void remove(String name) {
        Map<String, Adapter> all = new LinkedHashMap<>(now.adapters());
        all.remove(name);
        publish(all);
    }

    synchronized void update(String name, UnaryOperator<Adapter> change) {
        put(change.apply(now.adapters().get(name)));
    }

    void state(String name, AdapterState state) {
        update(name, a -> new Adapter(a.name(), a.registration(), a.slot(), state, a.inForce(), a.step(), a.targetStep(), 0, a.config(), ""));
    }

    void drain(String name) {
        update(name, a -> new Adapter(a.name(), a.registration(), a.slot(), AdapterState.RETIRING, a.inForce(), a.step(), a.targetStep(), 0, a.config(), "",
                Adapter.Ending.DRAIN));
    }

    void step(String name, long step) {
        update(name, a -> new Adapter(a.name(), a.registration(), a.slot(), a.state(), a.inForce(), step, a.targetStep(), 0, a.config(), "", a.ending()));
    }

    void inForce(String name, PolicyStamp stamp) {
        update(name, a -> new Adapter(a.name(), a.registration(), a.slot(), a.state(), Optional.of(stamp), a.step(), a.targetStep(), 0,
                a.config(), "", a.ending()));
    }

    void config(String name, AdapterConfig config) {
        update(name, a -> new Adapter(a.name(), a.registration(), a.slot(), a.state(), a.inForce(), a.step(), a.targetStep(), 0, config, ""));
    }

    Adapter get(String name) {
        return now.find(name).orElseThrow();
    }

    private void publish(Map<String, Adapter> all) {
        now = new RegistrySnapshot(now.epoch() + 1, all);
        listeners.forEach(l -> l.accept(now));
    }

    @Override
    public RegistrySnapshot snapshot() {
        return now;
    }

    @Override
    public synchronized Subscription onChange(Consumer<RegistrySnapshot> listener) {
        listeners.add(listener);
        return () -> {
            synchronized (this) {
                listeners.remove(listener);
            }
        };
    }
}
