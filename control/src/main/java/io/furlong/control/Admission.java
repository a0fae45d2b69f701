package io.furlong.control;

import io.furlong.control.RefusedException.Kind;
import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigCheck;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** Whether a registration can be accepted: everything that can be known beforehand. Changes nothing. */
final class Admission {
    private final Limits limits;
    private final List<ConfigCheck> checks;

    Admission(Limits limits, List<ConfigCheck> checks) {
        this.limits = limits;
        this.checks = List.copyOf(checks);
    }

    /** The rules that depend on the name and the configuration alone. May read files; call it without the registry's lock. */
    void config(String name, AdapterConfig config) throws RefusedException {
        List<String> problems = new ArrayList<>();
        Names.problem(name).ifPresent(problems::add);
        for (ConfigCheck check : checks) {
            problems.addAll(check.problems(name, config));
        }
        if (!problems.isEmpty()) {
            throw new RefusedException(Kind.INVALID, problems);
        }
    }

    /** The name must be free: not live, not being cleaned up. */
    void name(String name, Optional<Registration> live) throws RefusedException {
        if (live.isPresent()) {
            throw new RefusedException(Kind.CONFLICT, switch (live.get().state()) {
                case RETIRING, CLEANUP -> "adapter '" + name + "' is still cleaning up; retry shortly";
                case QUEUED, PENDING, ACTIVE, PAUSED, COMPLETED, FAILED -> "adapter '" + name + "' is already registered";
            });
        }
    }

    /** The save directory must be the adapter's own: not that of another, not inside it, not around it. */
    void save(String name, Path save, Collection<Registration> live, Optional<Registration> before) throws RefusedException {
        Path real = real(save);
        for (Registration r : live) {
            Path other = real(r.config().save());
            if (real.startsWith(other) || other.startsWith(real)) {
                throw new RefusedException(Kind.CONFLICT, "save: '" + save + "' overlaps the directory of adapter '" + r.name() + "'");
            }
        }
        if (before.isPresent() && !before.get().name().equals(name)) {
            throw new RefusedException(Kind.CONFLICT, "save: '" + save + "' holds what adapter '" + before.get().name() + "' left; choose another");
        }
    }

    /** The engines must have room for it beside the live ones; {@code replaced} is the one whose needs it takes over. */
    void places(String name, AdapterConfig config, Collection<Registration> live, Optional<Registration> replaced) throws RefusedException {
        int others = live.stream().filter(r -> r.state().holdsSlot() && replaced.filter(r::equals).isEmpty())
                .mapToInt(r -> limits.placesOf(r.config())).sum();
        int own = limits.placesOf(config);
        int there = limits.adapterPlaces().getAsInt();
        if (others + own + limits.sparePlaces() > there) {
            throw new RefusedException(Kind.FULL, "adapter '" + name + "' needs " + own + " adapter place" + (own == 1 ? "" : "s")
                    + " on the engines (" + (limits.publishing() == Limits.Publishing.VERSIONED ? "max_staleness + 1" : "its slot") + "); "
                    + others + " are taken by other adapters and " + limits.sparePlaces() + " kept free, of " + there + " in all");
        }
    }

    /** The lowest free slot. */
    Optional<Integer> freeSlot(Collection<Registration> live) {
        boolean[] taken = new boolean[limits.maxAdapters()];
        for (Registration r : live) {
            if (r.slot() >= 0 && r.slot() < taken.length) {
                taken[r.slot()] = true;
            }
        }
        for (int i = 0; i < taken.length; i++) {
            if (!taken[i]) {
                return Optional.of(i);
            }
        }
        return Optional.empty();
    }

    void quota(Store.Tenant tenant, Collection<Registration> live, long tokensToday) throws RefusedException {
        long adapters = live.stream().filter(r -> r.tenant().equals(tenant.name())).count();
        if (adapters >= tenant.maxAdapters()) {
            throw new RefusedException(Kind.QUOTA, "tenant '" + tenant.name() + "' has " + adapters + " adapters of " + tenant.maxAdapters());
        }
        long slots = live.stream().filter(r -> r.tenant().equals(tenant.name()) && r.state().holdsSlot()).count();
        if (slots >= tenant.maxSlots()) {
            throw new RefusedException(Kind.QUOTA, "tenant '" + tenant.name() + "' holds " + slots + " slots of " + tenant.maxSlots());
        }
        if (tokensToday >= tenant.tokensPerDay()) {
            throw new RefusedException(Kind.QUOTA, "tenant '" + tenant.name() + "' has generated " + tokensToday + " tokens today of "
                    + tenant.tokensPerDay());
        }
    }

    /** The path with symbolic links resolved as far as it exists. */
    static Path real(Path path) {
        Path absolute = path.toAbsolutePath().normalize();
        for (Path p = absolute; p != null; p = p.getParent()) {
            try {
                return p.toRealPath().resolve(p.relativize(absolute)).normalize();
            } catch (IOException e) {
                continue;
            }
        }
        return absolute;
    }
}
