package io.furlong.control;

import static io.furlong.control.Fixtures.active;
import static io.furlong.control.Fixtures.commit;
import static io.furlong.control.Fixtures.limits;
import static io.furlong.control.Fixtures.request;
import static io.furlong.control.Fixtures.stamp;
import static io.furlong.control.Fixtures.step;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.control.store.Stores;
import io.furlong.core.AdapterState;
import io.furlong.core.PolicyStamp;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecoveryTest {
    @TempDir
    private Path dir;

    private final Fixtures.Clock clock = new Fixtures.Clock();

    private AdapterRegistry open(Store store) {
        return AdapterRegistry.open(limits(8), List.of(), store, clock, new VersionDirectories(List.of(dir.resolve("adapters"))));
    }

    private Store store() {
        return Stores.open(dir.resolve("furlong.db").toString());
    }

    @Test
    void everything_but_the_accumulated_count_is_there_after_a_restart() throws Exception {
        List<Registration> before;
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            Registration a = active(registry, "a");
            step(registry, a, 1);
            registry.accumulated(Map.of(a.id(), 3));
            registry.patch("a", Desired.Patch.lr(0.25));
            active(registry, "b");
            registry.pause("b");
            registry.register(request("c"));
            registry.retire("c", Retirement.Mode.DRAIN, Retirement.Cause.USER, "enough");
            Fixtures.end(registry, active(registry, "d"));
            before = registry.live().stream().map(r -> r.withAccumulated(0)).toList();
        }
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            assertThat(registry.live()).isEqualTo(before);
            assertThat(registry.find("d").orElseThrow().state()).isEqualTo(AdapterState.COMPLETED);
            assertThat(registry.snapshot().find("b").orElseThrow().state()).isEqualTo(AdapterState.PAUSED);
            assertThat(registry.recovered()).hasSize(3);
        }
    }

    @Test
    void open_attempts_of_the_last_commit_are_requeued_and_the_cursor_goes_on() throws Exception {
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            step(registry, active(registry, "a"), 1);
        }
        try (Store store = store()) {
            Recovered r = open(store).recovered().getFirst();
            assertThat(r.ledger().open()).isZero();
            assertThat(r.ledger().requeued()).containsEntry("crash", 2L);
            assertThat(r.ledger().trained()).isEqualTo(4);
            assertThat(r.last().orElseThrow().commit().cursor().open()).hasSize(1);
        }
    }

    @Test
    void a_prepared_version_is_pushed_again_under_the_same_number_and_digest() throws Exception {
        PolicyStamp prepared;
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            Registration a = active(registry, "a");
            prepared = stamp("a", a.id(), registry.nextVersion(a.id()), 1);
            registry.commit(commit("a", prepared));
        }
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            Recovered r = registry.recovered().getFirst();
            assertThat(r.toPush()).contains(prepared);
            assertThat(r.registration().progress().inForce().orElseThrow().version()).isEqualTo(1);
            registry.inForce(prepared);
            assertThat(registry.snapshot().find("a").orElseThrow().inForce()).contains(prepared);
        }
    }

    @Test
    void directories_without_a_committed_version_are_gone_before_a_number_is_given_and_no_number_twice() throws Exception {
        Path adapters = Files.createDirectories(dir.resolve("adapters"));
        PolicyStamp committed;
        Registration a;
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            a = registry.register(request("a"));
            committed = stamp("a", a.id(), registry.nextVersion(a.id()), 0);
            Files.createDirectories(adapters.resolve(committed.servedName()).resolve("sub"));
            Files.writeString(adapters.resolve(committed.servedName()).resolve("sub/x"), "x");
            registry.commit(commit("a", committed));
            assertThat(registry.nextVersion(a.id())).isEqualTo(2);
        }
        Path torn = adapters.resolve(PolicyStamp.versionedName("a", a.id(), 2, "f".repeat(64)));
        Path unfinished = adapters.resolve(".unfinished-" + torn.getFileName());
        Path other = adapters.resolve("b." + a.id().shortHex() + "@v2-ffff");
        for (Path p : List.of(torn, unfinished, other)) {
            Files.writeString(Files.createDirectories(p).resolve("w"), "w");
        }
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            assertThat(torn).doesNotExist();
            assertThat(unfinished).doesNotExist();
            assertThat(other).exists();
            assertThat(adapters.resolve(committed.servedName())).exists();
            assertThat(registry.nextVersion(a.id())).isEqualTo(3);
            Files.createDirectories(torn.resolveSibling(PolicyStamp.versionedName("a", a.id(), 3, "f".repeat(64))));
            assertThat(registry.nextVersion(a.id())).isEqualTo(4);
            assertThat(adapters).isDirectoryNotContaining("glob:**@v3-*");
        }
    }

    @Test
    void versions_that_nothing_needs_are_removed_and_those_in_use_are_not() throws Exception {
        Path adapters = Files.createDirectories(dir.resolve("adapters"));
        try (Store store = store()) {
            AdapterRegistry registry = open(store);
            Registration a = registry.register(request("a"));
            List<PolicyStamp> stamps = new ArrayList<>();
            for (int s = 0; s < 4; s++) {
                stamps.add(step(registry, a, s));
                Files.createDirectories(adapters.resolve(stamps.getLast().servedName()));
            }
            registry.removeVersions(a.id(), Set.of(1L, 2L, 3L, 4L), Set.of(2L));
            assertThat(adapters.toFile().list()).containsExactlyInAnyOrder(stamps.get(1).servedName(), stamps.get(3).servedName());
            assertThatThrownBy(() -> registry.rollback("a", 1)).isInstanceOf(RefusedException.class);
            registry.rollback("a", 2);
            registry.removeVersions(a.id(), Set.of(2L), Set.of());
            assertThat(adapters.resolve(stamps.get(1).servedName())).exists();
        }
    }

    @Test
    void a_second_process_on_the_same_file_is_refused_with_one_line() {
        try (Store store = store()) {
            assertThat(store.healthy()).isTrue();
            assertThatThrownBy(this::store).isInstanceOf(StoreException.class).hasMessageContaining("in use by another Furlong process")
                    .satisfies(e -> assertThat(e.getMessage().lines().count()).isEqualTo(1));
        }
        store().close();
    }

    /**
     * The same script of changes, crashed before and after every one of its writes: what was confirmed is there, at most the
     * one change under way more, and the registry goes on from it.
     */
    @Test
    void a_crash_before_or_after_any_write_loses_nothing_that_was_confirmed_and_doubles_nothing() throws Exception {
        int crashes = 0;
        for (CrashingStore.When when : CrashingStore.When.values()) {
            for (int at = 1; ; at++) {
                Script script = new Script();
                boolean crashed = false;
                try (Store store = Stores.memory()) {
                    try {
                        script.run(open(new CrashingStore(store, when, at).store()));
                    } catch (CrashingStore.Crash e) {
                        crashed = true;
                    }
                    script.check(store, crashed && when == CrashingStore.When.AFTER);
                    AdapterRegistry registry = open(store);
                    for (Registration r : registry.live()) {
                        assertThat(registry.nextVersion(r.id())).isGreaterThan(r.progress().lastVersion());
                    }
                    registry.register(request("fresh"));
                }
                if (!crashed) {
                    break;
                }
                crashes++;
            }
        }
        assertThat(crashes).isGreaterThan(24);
    }

    /** Two adapters, two steps each, a pause, a fault, a re-registration; remembers what was confirmed. */
    private static final class Script {
        private final Map<String, Long> steps = new HashMap<>();
        private int registrations;
        private int versions;

        void run(AdapterRegistry registry) throws Exception {
            Registration a = registry.register(request("a"));
            registrations++;
            Registration b = registry.register(request("b"));
            registrations++;
            for (int s = 0; s < 2; s++) {
                for (Registration r : List.of(a, b)) {
                    PolicyStamp stamp = stamp(r.name(), r.id(), registry.nextVersion(r.id()), s);
                    registry.commit(commit(r.name(), stamp));
                    steps.put(r.name(), (long) s);
                    versions++;
                    registry.inForce(stamp);
                }
            }
            registry.pause("a");
            registry.fail(b.id(), "broken", "mend it");
            registry.stopped(b.id());
            registry.cleaned(b.id());
            registry.register(request("b"));
            registrations++;
        }

        void check(Store store, boolean oneMore) {
            assertThat(store.lastOrdinal()).isBetween((long) registrations, registrations + (oneMore ? 1L : 0L));
            int found = 0;
            for (String name : List.of("a", "b")) {
                for (Registration r : store.latestEnded(name).or(() -> store.latest(name)).stream().toList()) {
                    List<VersionRow> rows = store.versions(r.id());
                    found += rows.size();
                    assertThat(rows.stream().map(v -> v.commit().stamp().step())).doesNotHaveDuplicates();
                    assertThat(r.progress().step()).isGreaterThanOrEqualTo(steps.getOrDefault(name, 0L));
                    assertThat(rows.isEmpty() ? 0L : rows.getLast().commit().stamp().step()).isEqualTo(r.progress().step());
                    assertThat(rows.stream().filter(v -> v.state() == VersionRow.State.IN_FORCE).count()).isLessThanOrEqualTo(1);
                }
            }
            assertThat(found).isBetween(versions, versions + (oneMore ? 1 : 0));
            List<ControlEvent> events = store.events(new Store.EventQuery(0, java.util.Optional.empty(), java.util.Optional.empty(), 10_000));
            for (int i = 0; i < events.size(); i++) {
                assertThat(events.get(i).id()).isEqualTo(i + 1L);
            }
            assertThat(events.stream().filter(e -> e.kind().equals("committed")).count()).isEqualTo(found);
        }
    }
}
