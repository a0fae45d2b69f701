package io.furlong.control;

import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What tenants may use, and the tokens they have generated today (UTC) as far as committed. Changed under the registry's
 * writer lock only, which is also held by whoever reads here.
 */
final class Quotas {
    private final Store store;
    private final InstantSource clock;
    private final Map<String, Optional<Store.Tenant>> tenants = new HashMap<>();
    private final Map<String, Long> tokens = new HashMap<>();
    private LocalDate day = LocalDate.EPOCH;

    Quotas(Store store, InstantSource clock) {
        this.store = store;
        this.clock = clock;
    }

    Optional<Store.Tenant> tenant(String name) {
        return tenants.computeIfAbsent(name, store::tenant);
    }

    void save(Store.Tenant tenant) {
        store.saveTenant(tenant);
        tenants.put(tenant.name(), Optional.of(tenant));
    }

    long tokensToday(String tenant) {
        LocalDate today = LocalDate.ofInstant(clock.instant(), ZoneOffset.UTC);
        if (!today.equals(day)) {
            day = today;
            tokens.clear();
        }
        return tokens.computeIfAbsent(tenant, t -> store.tokensOn(t, today));
    }

    /** Counts tokens that a commit has just booked in the store. */
    void booked(String tenant, long before, long generated) {
        tokens.put(tenant, before + generated);
    }

    /** When a tenant that has used up its day may go on; empty while it has tokens left. */
    Optional<Instant> heldUntil(String tenant) {
        boolean over = tenant(tenant).filter(t -> tokensToday(tenant) >= t.tokensPerDay()).isPresent();
        return over ? Optional.of(day.plusDays(1).atStartOfDay(ZoneOffset.UTC).toInstant()) : Optional.empty();
    }
}
