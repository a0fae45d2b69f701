package io.furlong.sglang;

import io.furlong.core.HealthProbe;
import java.util.List;

/** Up while at least one engine is ready; the detail names those that are not, and why. */
public final class FleetHealth implements HealthProbe {
    private final Fleet fleet;

    public FleetHealth(Fleet fleet) {
        this.fleet = fleet;
    }

    @Override
    public String name() {
        return "engines";
    }

    @Override
    public Health check() {
        List<EngineView> engines = fleet.engines();
        long ready = engines.stream().filter(e -> e.state() == EngineState.READY).count();
        StringBuilder detail = new StringBuilder(ready + " of " + engines.size() + " engines ready");
        engines.stream().filter(e -> e.state() != EngineState.READY).forEach(e -> detail.append("; ").append(e.url()).append(' ').append(e.state()).append(": ").append(e.reason()));
        return new Health(ready > 0 ? Health.Status.UP : Health.Status.DOWN, detail.toString());
    }
}
