package io.furlong.control;

import static io.furlong.control.Fixtures.active;
import static io.furlong.control.Fixtures.step;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.control.store.Stores;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Against a real PostgreSQL, whose JDBC URL is in {@code FURLONG_TEST_POSTGRES}; each test has a schema of its own. */
@EnabledIfEnvironmentVariable(named = "FURLONG_TEST_POSTGRES", matches = "jdbc:postgresql:.+",
        disabledReason = "no PostgreSQL: set FURLONG_TEST_POSTGRES to its JDBC URL")
@Timeout(120)
class PostgresTest {
    private static final AtomicInteger SCHEMAS = new AtomicInteger();

    private final Fixtures.Clock clock = new Fixtures.Clock();
    private String schema = "";
    private String url = "";
    private final List<Child> children = new ArrayList<>();

    @BeforeEach
    void makeSchema() throws Exception {
        schema = "t" + ProcessHandle.current().pid() + "_" + SCHEMAS.incrementAndGet();
        sql("CREATE SCHEMA " + schema);
        String base = System.getenv("FURLONG_TEST_POSTGRES");
        url = base + (base.contains("?") ? "&" : "?") + "currentSchema=" + schema;
    }

    @AfterEach
    void dropSchema() throws Exception {
        for (Child c : children) {
            c.kill();
        }
        sql("DROP SCHEMA " + schema + " CASCADE");
    }

    @Test
    void everything_is_there_after_a_restart() throws Exception {
        List<Registration> before;
        try (Store store = Stores.open(url)) {
            AdapterRegistry registry = Fixtures.registry(store, Fixtures.limits(8), clock);
            Registration a = active(registry, "a");
            step(registry, a, 1);
            Fixtures.end(registry, active(registry, "b"));
            registry.fail(active(registry, "c").id(), "broken", "mend it");
            registry.quota(new Store.Tenant("acme", 7, 7, 1000));
            store.saveToken("f".repeat(64), "acme", "x", clock.instant());
            before = registry.live();
        }
        try (Store store = Stores.open(url)) {
            AdapterRegistry registry = Fixtures.registry(store, Fixtures.limits(8), clock);
            assertThat(registry.live()).isEqualTo(before);
            assertThat(store.versions(registry.live("a").orElseThrow().id()).stream().map(VersionRow::state))
                    .containsExactly(VersionRow.State.SUPERSEDED, VersionRow.State.IN_FORCE);
            assertThat(store.ended(Optional.of("acme"), Long.MAX_VALUE, 10).stream().map(Registration::name)).containsExactly("b");
            assertThat(store.tenant("acme").orElseThrow().maxAdapters()).isEqualTo(7);
            assertThat(store.tenantOfToken("f".repeat(64))).contains("acme");
            assertThat(store.tokensOn("acme", java.time.LocalDate.parse("2026-01-01"))).isEqualTo(100);
            assertThat(store.events(new Store.EventQuery(0, Optional.empty(), Optional.of("a"), 100))).hasSize(5);
            assertThat(store.healthy()).isTrue();
            assertThat(store.mayAct()).isTrue();
        }
    }

    @Test
    void a_leader_that_was_fenced_off_writes_nothing_and_may_not_act() throws Exception {
        AtomicInteger lost = new AtomicInteger();
        try (Store store = Stores.open(url, lost::incrementAndGet)) {
            AdapterRegistry registry = Fixtures.registry(store, Fixtures.limits(8), clock);
            Registration a = active(registry, "a");
            long events = store.lastEventId();
            sql("UPDATE " + schema + ".lease SET fence = fence + 1, holder = 'someone else'");
            assertThatThrownBy(() -> registry.nextVersion(a.id())).isInstanceOf(LeaseLostException.class);
            assertThatThrownBy(() -> registry.register(Fixtures.request("b"))).isInstanceOf(LeaseLostException.class);
            assertThat(registry.live()).hasSize(1);
            assertThat(store.lastEventId()).isEqualTo(events);
            assertThat(store.mayAct()).isFalse();
            assertThat(lost).hasValue(1);
        }
    }

    /** Stopped without warning in the middle of its work, and woken when another leads. */
    @Test
    void a_leader_that_sleeps_is_replaced_within_ten_seconds_and_does_no_harm_when_it_wakes() throws Exception {
        Child a = child("A");
        a.expect("LEADING");
        for (int i = 0; i < 3; i++) {
            a.order("step");
            assertThat(a.expect("COMMITTED")).isEqualTo("COMMITTED " + i);
            a.expect("LOAD");
        }
        Child b = child("B");
        long stopped = System.nanoTime();
        a.signal("STOP");
        b.expect("LEADING");
        assertThat(Duration.ofNanos(System.nanoTime() - stopped)).isLessThan(Duration.ofSeconds(10 + b.startedLate()));
        for (int i = 3; i < 6; i++) {
            b.order("step");
            assertThat(b.expect("COMMITTED")).isEqualTo("COMMITTED " + i);
        }
        a.order("step");
        a.order("step");
        a.signal("CONT");
        assertThat(a.expect("REFUSED")).isEqualTo("REFUSED LeaseLostException");
        a.expect("NO-LOAD");
        assertThat(a.said()).contains("LOST");
        b.order("step");
        assertThat(b.expect("COMMITTED")).isEqualTo("COMMITTED 6");
        a.order("step");
        a.expect("REFUSED");
        a.expect("NO-LOAD");
        b.order("quit");
        assertThat(b.process().waitFor(20, TimeUnit.SECONDS)).isTrue();
        try (Store store = Stores.open(url)) {
            Registration r = store.live().getFirst();
            assertThat(store.versions(r.id()).stream().map(v -> v.commit().checkpoint().toString()))
                    .containsExactly("/by/A/0", "/by/A/1", "/by/A/2", "/by/B/3", "/by/B/4", "/by/B/5", "/by/B/6");
        }
    }

    private void sql(String statement) throws Exception {
        try (Connection c = DriverManager.getConnection(System.getenv("FURLONG_TEST_POSTGRES")); Statement s = c.createStatement()) {
            s.execute(statement);
        }
    }

    private Child child(String name) throws Exception {
        Child c = Child.controller(url, name);
        children.add(c);
        return c;
    }
}
