package io.furlong.control;

import io.furlong.core.HealthProbe;

/** Whether the store takes a transaction. */
public final class StoreProbe implements HealthProbe {
    private final Store store;

    public StoreProbe(Store store) {
        this.store = store;
    }

    @Override
    public String name() {
        return "store";
    }

    @Override
    public Health check() {
        return store.healthy() ? new Health(Health.Status.UP, "takes transactions") : new Health(Health.Status.DOWN, "doesn't answer");
    }
}
