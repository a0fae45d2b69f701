package io.furlong.control;

import io.furlong.control.Lifecycle.Move;
import io.furlong.control.Lifecycle.Trigger;
import io.furlong.control.RefusedException.Kind;
import io.furlong.control.Retirement.Cause;
import io.furlong.control.Retirement.Mode;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterState;
import io.furlong.core.ConfigCheck;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.RegistryView;
import io.furlong.core.StepCommit;
import io.furlong.core.StepLog;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * All adapters and where each stands.
 *
 * <p>Invariants. One writer at a time: every change holds {@link #writer} from reading the old state over the store's
 * transaction to the last listener, so changes are durable, then visible, then told, in one order. Readers take no lock:
 * they load one volatile field of {@link Records}. What a reader sees is in the store, except for
 * {@code accumulated}, which is only as good as the gradient it counts. A listener must not block and must not change the
 * registry. Live registrations only are held here; ended ones are in the store.
 */
public final class AdapterRegistry implements RegistryView, StepLog {
    /** What someone who registers an adapter asks for. */
    public record Request(String tenant, String name, AdapterConfig config, WhenFull whenFull, Optional<OnceKey> once) {
        public Request(String tenant, String name, AdapterConfig config, WhenFull whenFull) {
            this(tenant, name, config, whenFull, Optional.empty());
        }

        /** A request with a key registers at most once; a repeat gets what the first made. */
        public record OnceKey(String key, String requestDigest) {}

        /** What happens when no slot is free. */
        public enum WhenFull { REFUSE, QUEUE }
    }

    private final Limits limits;
    private final Admission admission;
    private final Store store;
    private final InstantSource clock;
    private final VersionDirectories directories;
    private final EventFeed feed;
    private final Quotas quotas;
    private final Records records;
    private final ReentrantLock writer;
    /** Guarded by {@link #writer}. */
    private long ordinal;

    private AdapterRegistry(Limits limits, List<ConfigCheck> checks, Store store, InstantSource clock, VersionDirectories directories) {
        this.limits = limits;
        this.admission = new Admission(limits, checks);
        this.store = store;
        this.clock = clock;
        this.directories = directories;
        this.feed = new EventFeed(store);
        this.quotas = new Quotas(store, clock);
        this.ordinal = store.lastOrdinal();
        this.records = new Records(store, feed);
        this.writer = records.writer;
    }

    /**
     * Opens the registry on what the store holds, removes version directories that no committed row knows, and seats whom the last process
     * left waiting for a slot that had come free.
     *
     * @param checks      asked, all of them, at each registration
     * @param directories where version directories are
     */
    public static AdapterRegistry open(Limits limits, List<ConfigCheck> checks, Store store, InstantSource clock,
                                       VersionDirectories directories) {
        AdapterRegistry registry = new AdapterRegistry(limits, checks, store, clock, directories);
        for (Registration r : registry.records.all()) {
            registry.removeUncommitted(r);
        }
        registry.writer.lock();
        try {
            registry.seatQueued();
        } finally {
            registry.writer.unlock();
        }
        return registry;
    }

    // ---- Readers: no lock.

    @Override
    public RegistrySnapshot snapshot() {
        return records.snapshot();
    }

    /** A live registration by name. */
    public Optional<Registration> live(String name) {
        return records.find(name);
    }

    /** All live registrations, in order of registration. */
    public List<Registration> live() {
        return List.copyOf(records.all());
    }

    /** The newest registration under a name, live or ended. */
    public Optional<Registration> find(String name) {
        return live(name).or(() -> store.latest(name));
    }

    /** The last ended registration under a name: what a new one may resume from. */
    public Optional<Registration> previous(String name) {
        return store.latestEnded(name);
    }

    public Store store() {
        return store;
    }

    public EventFeed events() {
        return feed;
    }

    public InstantSource clock() {
        return clock;
    }

    @Override
    public Subscription onChange(Consumer<RegistrySnapshot> listener) {
        return records.onChange(listener);
    }

    /** What the last process left, in order of registration: for the loop to build up again. */
    public List<Recovered> recovered() {
        List<Recovered> all = new ArrayList<>();
        for (Registration r : records.all()) {
            Optional<VersionRow> last = store.lastVersion(r.id());
            LedgerSnapshot ledger = last.map(v -> v.commit().ledger().afterCrash()).orElse(LedgerSnapshot.EMPTY);
            all.add(new Recovered(r, last, ledger, r.progress().prepared().or(() -> r.progress().inForce())));
        }
        return all;
    }

    // ---- What people ask for.

    /** Says whether {@link #register} would accept this now; changes nothing. */
    public void validate(Request request) throws RefusedException {
        admission.config(request.name(), request.config());
        writer.lock();
        try {
            admit(request);
        } finally {
            writer.unlock();
        }
    }

    /** Registers an adapter: PENDING in the lowest free slot, or QUEUED when full and the request says so. */
    public Registration register(Request request) throws RefusedException {
        Optional<Registration> before = madeBy(request);
        if (before.isPresent()) {
            return before.get();
        }
        admission.config(request.name(), request.config());
        writer.lock();
        try {
            before = madeBy(request);
            if (before.isPresent()) {
                return before.get();
            }
            Optional<Integer> slot = admit(request);
            AdapterConfig config = Patches.withSave(request.config(), Admission.real(request.config().save()));
            long target = StopRules.firstTarget(config.stop());
            Registration r = new Registration(RegistrationId.random(), request.name(), request.tenant(), ++ordinal, slot.orElse(-1),
                    slot.isPresent() ? AdapterState.PENDING : AdapterState.QUEUED, config, Desired.NOTHING,
                    Progress.start(target), 0, Optional.empty(), Optional.empty(), Optional.empty(), clock.instant(), Optional.empty(), Optional.empty());
            Optional<Store.Once> once = request.once().map(o -> new Store.Once(o.key(), o.requestDigest(), r.id()));
            records.write(new Change.Registered(r, once, List.of(event(r, slot.isPresent() ? "registered" : "queued", Map.of("slot", r.slot())))));
            return r;
        } finally {
            writer.unlock();
        }
    }

    /** What an earlier request with the same key made. */
    private Optional<Registration> madeBy(Request request) throws RefusedException {
        if (request.once().isEmpty()) {
            return Optional.empty();
        }
        Optional<Store.Once> before = store.once(request.tenant(), request.once().get().key());
        if (before.isPresent() && !before.get().digest().equals(request.once().get().requestDigest())) {
            throw new RefusedException(Kind.CONFLICT, "Idempotency-Key: '" + before.get().key() + "' was used for another request");
        }
        return before.flatMap(o -> store.find(o.registration()));
    }

    /** The slot it gets; empty when it is to wait for one. */
    private Optional<Integer> admit(Request request) throws RefusedException {
        Collection<Registration> live = records.all();
        admission.name(request.name(), records.find(request.name()));
        admission.save(request.name(), request.config().save(), live, store.latestWithSave(Admission.real(request.config().save())));
        Optional<Store.Tenant> tenant = quotas.tenant(request.tenant());
        if (tenant.isPresent()) {
            admission.quota(tenant.get(), live, quotas.tokensToday(request.tenant()));
        }
        try {
            Optional<Integer> slot = admission.freeSlot(live);
            if (slot.isEmpty()) {
                throw new RefusedException(Kind.FULL, "No free adapter slots: all " + limits.maxAdapters() + " are taken");
            }
            admission.places(request.name(), request.config(), live, Optional.empty());
            return slot;
        } catch (RefusedException full) {
            if (full.kind() == Kind.FULL && request.whenFull() == Request.WhenFull.QUEUE) {
                return Optional.empty();
            }
            throw full;
        }
    }

    public Registration pause(String name) throws RefusedException {
        return patch(name, Desired.Patch.run(Desired.Patch.Run.PAUSED));
    }

    public Registration resume(String name) throws RefusedException {
        return patch(name, Desired.Patch.run(Desired.Patch.Run.RUNNING));
    }

    /**
     * Ends an adapter; at once where it has nothing in force yet. While it drains it may be told to end now; the other way round changes nothing.
     *
     * @param why one line; empty text when there is nothing to say
     */
    public Registration retire(String name, Mode mode, Cause cause, String why) throws RefusedException {
        writer.lock();
        try {
            Registration r = required(name);
            Instant now = clock.instant();
            Optional<Retirement> before = r.retirement();
            if (before.isPresent() && (mode == Mode.DRAIN || before.get().mode() == Mode.NOW)) {
                return r;
            }
            Retirement retirement = before.map(Retirement::now)
                    .orElse(new Retirement(r.state() == AdapterState.PENDING ? Mode.NOW : mode, cause, now, now.plus(limits.drain()), why));
            return move(r.withRetirement(retirement), Trigger.RETIRE, "retiring",
                    Map.of("mode", retirement.mode().name().toLowerCase(), "cause", cause.name().toLowerCase(), "why", why));
        } finally {
            writer.unlock();
        }
    }

    /** Stores what someone wants of a running adapter; weight, staleness, pause and resume take effect at once. */
    public Registration patch(String name, Desired.Patch patch) throws RefusedException {
        return patch(name, patch, () -> true);
    }

    /**
     * The same on a condition.
     *
     * @param unchanged says whether the registry is still as the caller saw it; nothing else changes it between the answer and the change
     * @throws RefusedException of kind CHANGED when it isn't
     */
    public Registration patch(String name, Desired.Patch patch, BooleanSupplier unchanged) throws RefusedException {
        writer.lock();
        try {
            Registration r = required(name);
            if (!unchanged.getAsBoolean()) {
                throw new RefusedException(Kind.CHANGED, "adapter '" + name + "' may have changed since it was read; read it again");
            }
            Registration patched = Patches.apply(r, patch);
            if (!patched.config().equals(r.config())) {
                admission.places(name, patched.config(), records.all(), Optional.of(r));
            }
            Optional<Trigger> run = patch.run().map(p -> p == Desired.Patch.Run.PAUSED ? Trigger.PAUSE : Trigger.RESUME);
            if (run.isPresent()) {
                if (run.get() == Trigger.RESUME && quotas.heldUntil(r.tenant()).isPresent()) {
                    throw new RefusedException(Kind.QUOTA, "tenant '" + r.tenant() + "' has used up its tokens of the day");
                }
                patched = switch (Lifecycle.on(r.state(), run.get())) {
                    case Move.To to -> patched.withState(to.state()).held(Optional.empty());
                    case Move.Already already -> patched.held(Optional.empty());
                    case Move.Refused refused -> throw new RefusedException(Kind.CONFLICT, "adapter '" + name + "' " + refused.why());
                };
            }
            if (!patched.equals(r)) {
                records.write(new Change.Moved(patched, List.of(event(patched, "changed", Patches.describe(patch)))));
            }
            return patched;
        } finally {
            writer.unlock();
        }
    }

    /** Asks the loop to go back to a committed version; open groups end, and the weights get a new number. */
    public Registration rollback(String name, long version) throws RefusedException {
        writer.lock();
        try {
            Registration r = required(name);
            if (!r.mayCommit() || r.state() == AdapterState.PENDING) {
                throw new RefusedException(Kind.CONFLICT, "adapter '" + name + "' is " + r.state() + ": only a running adapter can be rolled back");
            }
            VersionRow row = store.version(r.id(), version).filter(v -> v.state() != VersionRow.State.REMOVED)
                    .orElseThrow(() -> new RefusedException(Kind.INVALID, "version: adapter '" + name + "' has no committed version " + version
                            + " to go back to"));
            Registration wished = r.withDesired(r.desired().withRollback(row.commit().stamp().version()));
            records.write(new Change.Moved(wished, List.of(event(wished, "rollback_wanted", Map.of("version", version)))));
            return wished;
        } finally {
            writer.unlock();
        }
    }

    // ---- What the loop says.

    /** Something of the adapter's own is broken: it ends as FAILED. Unknown or ended registrations are left alone. */
    public void fail(RegistrationId id, String reason, String remedy) {
        writer.lock();
        try {
            Optional<Registration> found = records.find(id);
            if (found.isEmpty() || found.get().failure().isPresent()) {
                return;
            }
            Instant now = clock.instant();
            Registration r = found.get().withFailure(new Failure(reason, remedy, now))
                    .withRetirement(new Retirement(Mode.NOW, Cause.FAULT, now, now, reason));
            moveIfPossible(r, Trigger.FAIL, "failing", Map.of("reason", reason, "remedy", remedy));
        } finally {
            writer.unlock();
        }
    }

    /** Nothing of it runs any more: RETIRING → CLEANUP. */
    public void stopped(RegistrationId id) {
        writer.lock();
        try {
            records.find(id).ifPresent(r -> moveIfPossible(r, Trigger.STOPPED, "cleanup", Map.of()));
        } finally {
            writer.unlock();
        }
    }

    /** Exported and cleared: CLEANUP → COMPLETED or FAILED. Its name and slot are free, and a queued adapter may take the slot. */
    public void cleaned(RegistrationId id) {
        writer.lock();
        try {
            Optional<Registration> found = records.find(id);
            if (found.isPresent()) {
                Registration r = found.get();
                boolean failed = r.failure().isPresent();
                moveIfPossible(r, failed ? Trigger.CLEANED_AFTER_FAULT : Trigger.CLEANED, failed ? "failed" : "completed",
                        Map.of("reason", r.reason(), "step", r.progress().step()));
                seatQueued();
            }
        } finally {
            writer.unlock();
        }
    }

    /** How many rows its dataset has after filtering: fixes the target step where epochs were asked for. */
    public void rows(RegistrationId id, long rows) {
        writer.lock();
        try {
            records.find(id).filter(r -> r.progress().rows() != rows).ifPresent(r -> {
                Registration known = r.withProgress(r.progress().withRows(rows, StopRules.targetStep(r, rows)));
                records.write(new Change.Moved(known, List.of()));
            });
        } finally {
            writer.unlock();
        }
    }

    /** Groups accumulated towards the next step, after a train call. One new snapshot for all; nothing durable. */
    public void accumulated(Map<RegistrationId, Integer> groups) {
        writer.lock();
        try {
            List<Registration> counted = groups.keySet().stream().flatMap(id -> records.find(id).stream()).toList();
            records.showOnly(counted, r -> r.withAccumulated(groups.get(r.id())));
        } finally {
            writer.unlock();
        }
    }

    /**
     * Records an evaluation's accuracy, which the reward target is held against. A version that is evaluated again, as after a crash, counts
     * once.
     */
    public void evaluated(PolicyStamp stamp, double accuracy) {
        writer.lock();
        try {
            records.find(stamp.registration()).filter(r -> r.progress().evaluatedVersion() != stamp.version()).ifPresent(r -> {
                boolean met = r.config().stop().rewardTarget().stream().anyMatch(t -> accuracy >= t);
                Registration e = r.withProgress(r.progress().evaluated(stamp.version(), met ? r.progress().targetHeld() + 1 : 0));
                records.write(new Change.Moved(e, List.of(event(e, "evaluated", Map.of("step", stamp.step(), "accuracy", accuracy)))));
            });
        } finally {
            writer.unlock();
        }
    }

    /** Why a live registration is done, if one of its stop rules is met. */
    public Optional<String> stopReached(RegistrationId id) {
        return records.find(id).flatMap(r -> StopRules.reached(r, clock.instant()));
    }

    /** A tenant whose quota of the day was used up may go on. */
    void release(RegistrationId id) {
        writer.lock();
        try {
            records.find(id).filter(r -> r.heldUntil().isPresent() && r.state() == AdapterState.PAUSED).ifPresent(r ->
                    moveIfPossible(r.held(Optional.empty()), Trigger.RESUME, "resumed", Map.of("why", "a new day")));
        } finally {
            writer.unlock();
        }
    }

    /** What a tenant may use from now on. */
    public void quota(Store.Tenant tenant) {
        writer.lock();
        try {
            quotas.save(tenant);
        } finally {
            writer.unlock();
        }
    }

    // ---- The record of steps.

    @Override
    public long nextVersion(RegistrationId id) {
        writer.lock();
        try {
            Registration r = records.find(id).orElseThrow(() -> new IllegalStateException("registration " + id + " has ended; it gets no new version"));
            if (r.progress().lastVersion() != r.progress().lastCommitted()) {
                removeUncommitted(r);
            }
            Registration given = r.withProgress(r.progress().withLastVersion(r.progress().lastVersion() + 1));
            records.write(new Change.Moved(given, List.of()));
            return given.progress().lastVersion();
        } finally {
            writer.unlock();
        }
    }

    @Override
    public void commit(StepCommit commit) throws StaleRegistrationException {
        writer.lock();
        try {
            PolicyStamp stamp = commit.stamp();
            Registration r = records.find(stamp.registration()).filter(Registration::mayCommit)
                    .orElseThrow(() -> new StaleRegistrationException(commit.adapter(), stamp.registration()));
            boolean rollback = r.desired().rollback().isPresent() && stamp.step() < r.progress().step() + 1;
            Progress before = r.progress();
            if (stamp.version() > before.lastVersion() || stamp.version() <= before.lastCommitted() || before.begun() && !rollback && stamp.step() != before.step() + 1) {
                throw new IllegalStateException("adapter '" + r.name() + "': commit of step " + stamp.step() + " as version " + stamp.version()
                        + " after step " + before.step() + " and version " + before.lastVersion());
            }
            Registration next = Patches.atBoundary(r.withProgress(before.committed(commit)).withAccumulated(0), rollback);
            long tokens = Math.max(0, commit.generatedTokens() - before.generatedTokens());
            long today = quotas.tokensToday(r.tenant());
            records.write(new Change.Committed(next, commit, tokens, List.of(event(next, rollback ? "rolled_back" : "committed",
                    Map.of("step", stamp.step(), "version", stamp.version(), "digest", stamp.digest())))));
            quotas.booked(r.tenant(), today, tokens);
            quotas.heldUntil(r.tenant()).ifPresent(until -> hold(r.tenant(), until));
        } finally {
            writer.unlock();
        }
    }

    @Override
    public void inForce(PolicyStamp stamp) throws StaleRegistrationException {
        writer.lock();
        try {
            Optional<Registration> found = records.find(stamp.registration());
            if (found.isEmpty() || !(Lifecycle.on(found.get().state(), Trigger.IN_FORCE) instanceof Move.To to)) {
                throw new StaleRegistrationException(found.map(Registration::name).orElse(stamp.servedName()), stamp.registration());
            }
            Registration r = found.get();
            if (r.progress().inForce().filter(f -> f.version() >= stamp.version()).isPresent()) {
                return;
            }
            Registration next = r.withProgress(r.progress().inForce(stamp)).withState(to.state()).activated(clock.instant());
            long from = r.progress().inForce().map(PolicyStamp::version).orElse(1L);
            records.write(new Change.InForce(next, stamp, from, List.of(event(next, "in_force", Map.of("step", stamp.step(), "version", stamp.version())))));
        } finally {
            writer.unlock();
        }
    }

    @Override
    public Optional<StepCommit> last(RegistrationId id) {
        return store.lastVersion(id).map(VersionRow::commit);
    }

    /** Removes the files of versions that are neither committed last, in force, wished back, nor in {@code keep}. */
    public void removeVersions(RegistrationId id, Set<Long> versions, Set<Long> keep) {
        writer.lock();
        try {
            Optional<Registration> found = records.find(id);
            if (found.isEmpty()) {
                return;
            }
            Registration r = found.get();
            Set<Long> gone = versions.stream().filter(v -> !keep.contains(v) && !holds(r, v)).collect(Collectors.toSet());
            if (!gone.isEmpty()) {
                records.write(new Change.Removed(r, List.copyOf(gone), List.of()));
                directories.remove(r.name(), id, gone);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            writer.unlock();
        }
    }

    private static boolean holds(Registration r, long version) {
        Progress p = r.progress();
        return p.inForce().filter(s -> s.version() == version).isPresent() || p.prepared().filter(s -> s.version() == version).isPresent()
                || r.desired().rollback().equals(OptionalLong.of(version));
    }

    // ---- Inside, with the writer's lock held.

    private void removeUncommitted(Registration r) {
        Set<Long> committed = store.versions(r.id()).stream()
                .filter(v -> v.state() != VersionRow.State.REMOVED).map(v -> v.commit().stamp().version()).collect(Collectors.toSet());
        try {
            directories.keepOnly(r.name(), r.id(), committed);
        } catch (IOException e) {
            throw new UncheckedIOException("adapter '" + r.name() + "': can't remove version directories that were never committed: "
                    + e.getMessage(), e);
        }
    }

    /** Gives free slots to queued adapters, in order of registration, as long as the first of them fits. */
    private void seatQueued() {
        for (Registration r : List.copyOf(records.all())) {
            if (r.state() != AdapterState.QUEUED) {
                continue;
            }
            Optional<Integer> slot = admission.freeSlot(records.all());
            try {
                admission.places(r.name(), r.config(), records.all(), Optional.empty());
            } catch (RefusedException full) {
                return;
            }
            if (slot.isEmpty()) {
                return;
            }
            moveIfPossible(r.withSlot(slot.get()), Trigger.SLOT, "registered", Map.of("slot", slot.get()));
        }
    }

    private void hold(String tenant, Instant until) {
        for (Registration r : List.copyOf(records.all())) {
            if (r.tenant().equals(tenant) && r.state() == AdapterState.ACTIVE) {
                moveIfPossible(r.held(Optional.of(until)), Trigger.PAUSE, "paused", Map.of("why", "the tenant's tokens of the day are used up"));
            }
        }
    }

    private Registration move(Registration r, Trigger trigger, String kind, Map<String, Object> detail) throws RefusedException {
        return switch (Lifecycle.on(r.state(), trigger)) {
            case Move.To to -> {
                Registration moved = r.withState(to.state());
                Registration end = to.state().terminal() ? moved.ended(clock.instant()) : moved;
                records.write(new Change.Moved(end, List.of(event(end, kind, detail))));
                yield end;
            }
            case Move.Already already -> r;
            case Move.Refused refused -> throw new RefusedException(Kind.CONFLICT, "adapter '" + r.name() + "' " + refused.why());
        };
    }

    private void moveIfPossible(Registration r, Trigger trigger, String kind, Map<String, Object> detail) {
        try {
            move(r, trigger, kind, detail);
        } catch (RefusedException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    private Registration required(String name) throws RefusedException {
        Optional<Registration> live = records.find(name);
        if (live.isPresent()) {
            return live.get();
        }
        Optional<Registration> ended = store.latest(name);
        throw ended.isPresent()
                ? new RefusedException(Kind.CONFLICT, "adapter '" + name + "' has " + (ended.get().state() == AdapterState.FAILED ? "failed" : "completed"))
                : new RefusedException(Kind.UNKNOWN, "Adapter '" + name + "' not registered");
    }

    private ControlEvent event(Registration r, String kind, Map<String, Object> detail) {
        return new ControlEvent(0, clock.instant(), r.tenant(), r.name(), r.id().hex(), kind, detail);
    }
}
