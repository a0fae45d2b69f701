package io.furlong.control.store;

import io.furlong.control.Change;
import io.furlong.control.ControlEvent;
import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.StoreException;
import io.furlong.control.VersionRow;
import io.furlong.core.RegistrationId;
import io.furlong.core.StepCommit;
import java.nio.file.Path;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.mapper.RowMapper;

/** The store's statements, the same for SQLite and PostgreSQL. One {@link Change} is one transaction. */
final class SqlStore implements Store {
    private static final String NEWEST = "ordinal = (SELECT MAX(ordinal) FROM registration n WHERE n.name = r.name)";
    private static final RowMapper<Registration> REGISTRATION = (rs, context) -> Documents.read(rs.getString("document"), Registration.class);
    private static final RowMapper<VersionRow> VERSION = (rs, context) -> readVersion(rs);
    private static final RowMapper<ControlEvent> EVENT = (rs, context) -> readEvent(rs);

    private final Database database;

    SqlStore(Database database) {
        this.database = database;
        try {
            Flyway.configure(SqlStore.class.getClassLoader()).loggers("slf4j").dataSource(database.migrations())
                    .locations("classpath:io/furlong/control/schema").load().migrate();
            database.lead();
        } catch (FlywayException e) {
            database.close();
            throw new StoreException("store: can't bring the schema of '" + database.name() + "' up to date: " + e.getMessage().lines().findFirst().orElse(""), e);
        }
    }

    @Override
    public List<ControlEvent> write(Change change) {
        // Everything is put into words before the transaction, which then holds its locks for the database's own time only.
        String registration = Documents.write(change.registration());
        String commit = change instanceof Change.Committed c ? Documents.write(c.commit()) : "";
        List<String> details = change.events().stream().map(e -> Documents.write(e.detail())).toList();
        return database.write(h -> {
            save(h, change.registration(), registration);
            switch (change) {
                case Change.Registered r -> r.once().ifPresent(o ->
                        h.execute("INSERT INTO once (tenant, key, digest, registration) VALUES (?, ?, ?, ?)",
                                r.registration().tenant(), o.key(), o.digest(), o.registration().hex()));
                case Change.Moved m -> { }
                case Change.Committed c -> {
                    insertVersion(h, c.commit(), commit, at(change));
                    book(h, c.registration(), c.newTokens(), at(change));
                }
                case Change.InForce f -> {
                    h.execute("UPDATE version SET state = ? WHERE registration = ? AND version >= ? AND version < ? AND state IN (?, ?)",
                            VersionRow.State.SUPERSEDED.name(), f.stamp().registration().hex(), f.supersededFrom(), f.stamp().version(),
                            VersionRow.State.PREPARED.name(), VersionRow.State.IN_FORCE.name());
                    h.execute("UPDATE version SET state = ?, in_force_at = ? WHERE registration = ? AND version = ?",
                            VersionRow.State.IN_FORCE.name(), at(change).toEpochMilli(), f.stamp().registration().hex(), f.stamp().version());
                }
                case Change.Removed r -> r.versions().forEach(v -> h.execute("UPDATE version SET state = ? WHERE registration = ? AND version = ?",
                        VersionRow.State.REMOVED.name(), r.registration().id().hex(), v));
            }
            return append(h, change.events(), details);
        });
    }

    private static Instant at(Change change) {
        return change.events().isEmpty() ? change.registration().registeredAt() : change.events().getFirst().at();
    }

    private static void save(Handle h, Registration r, String document) {
        h.execute("INSERT INTO registration (id, name, tenant, ordinal, live, save, document) VALUES (?, ?, ?, ?, ?, ?, ?) "
                        + "ON CONFLICT (id) DO UPDATE SET live = excluded.live, document = excluded.document",
                r.id().hex(), r.name(), r.tenant(), r.ordinal(), r.state().terminal() ? 0 : 1, r.config().save().toString(), document);
    }

    private static void insertVersion(Handle h, StepCommit commit, String document, Instant at) {
        h.execute("INSERT INTO version (registration, version, step, state, document, committed_at) VALUES (?, ?, ?, ?, ?, ?)",
                commit.stamp().registration().hex(), commit.stamp().version(), commit.stamp().step(), VersionRow.State.PREPARED.name(),
                document, at.toEpochMilli());
    }

    private static void book(Handle h, Registration r, long tokens, Instant at) {
        if (tokens > 0) {
            h.execute("INSERT INTO token_use (tenant, day, adapter, tokens) VALUES (?, ?, ?, ?) "
                            + "ON CONFLICT (tenant, day, adapter) DO UPDATE SET tokens = token_use.tokens + excluded.tokens",
                    r.tenant(), LocalDate.ofInstant(at, ZoneOffset.UTC).toString(), r.name(), tokens);
        }
    }

    private static List<ControlEvent> append(Handle h, List<ControlEvent> events, List<String> details) {
        if (events.isEmpty()) {
            return events;
        }
        long id = lastEvent(h);
        List<ControlEvent> stored = new ArrayList<>();
        for (int i = 0; i < events.size(); i++) {
            ControlEvent e = events.get(i);
            id++;
            h.execute("INSERT INTO event (id, at, tenant, adapter, registration, kind, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    id, e.at().toEpochMilli(), e.tenant(), e.adapter(), e.registration(), e.kind(), details.get(i));
            stored.add(e.withId(id));
        }
        return stored;
    }

    private static long lastEvent(Handle h) {
        return h.createQuery("SELECT COALESCE(MAX(id), 0) FROM event").mapTo(Long.class).one();
    }

    @Override
    public List<Registration> live() {
        return database.read(h -> h.createQuery("SELECT document FROM registration WHERE live = 1 ORDER BY ordinal").map(REGISTRATION).list());
    }

    @Override
    public Optional<Registration> find(RegistrationId id) {
        return database.read(h -> h.select("SELECT document FROM registration WHERE id = ?", id.hex()).map(REGISTRATION).findOne());
    }

    @Override
    public Optional<Registration> latest(String name) {
        return database.read(h -> h.select("SELECT document FROM registration WHERE name = ? ORDER BY ordinal DESC LIMIT 1", name)
                .map(REGISTRATION).findOne());
    }

    @Override
    public Optional<Registration> latestEnded(String name) {
        return database.read(h -> h.select("SELECT document FROM registration WHERE name = ? AND live = 0 ORDER BY ordinal DESC LIMIT 1", name)
                .map(REGISTRATION).findOne());
    }

    @Override
    public Optional<Registration> latestWithSave(Path save) {
        return database.read(h -> h.select("SELECT document FROM registration WHERE save = ? ORDER BY ordinal DESC LIMIT 1", save.toString())
                .map(REGISTRATION).findOne());
    }

    @Override
    public List<Registration> ended(Optional<String> tenant, long belowOrdinal, int limit) {
        return database.read(h -> tenant
                .map(t -> h.select("SELECT document FROM registration r WHERE tenant = ? AND live = 0 AND ordinal < ? AND " + NEWEST + " ORDER BY ordinal DESC LIMIT ?",
                        t, belowOrdinal, limit))
                .orElseGet(() -> h.select("SELECT document FROM registration r WHERE live = 0 AND ordinal < ? AND " + NEWEST + " ORDER BY ordinal DESC LIMIT ?",
                        belowOrdinal, limit))
                .map(REGISTRATION).list());
    }

    @Override
    public List<VersionRow> versions(RegistrationId id) {
        return database.read(h -> h.select("SELECT * FROM version WHERE registration = ? ORDER BY version", id.hex()).map(VERSION).list());
    }

    @Override
    public Optional<VersionRow> version(RegistrationId id, long version) {
        return database.read(h -> h.select("SELECT * FROM version WHERE registration = ? AND version = ?", id.hex(), version)
                .map(VERSION).findOne());
    }

    @Override
    public Optional<VersionRow> lastVersion(RegistrationId id) {
        return database.read(h -> h.select("SELECT * FROM version WHERE registration = ? ORDER BY version DESC LIMIT 1", id.hex())
                .map(VERSION).findOne());
    }

    @Override
    public List<ControlEvent> events(EventQuery q) {
        return database.read(h -> {
            StringBuilder sql = new StringBuilder("SELECT * FROM event WHERE id > ?");
            List<Object> values = new ArrayList<>(List.of(q.after()));
            q.tenant().ifPresent(t -> {
                sql.append(" AND tenant = ?");
                values.add(t);
            });
            q.adapter().ifPresent(a -> {
                sql.append(" AND adapter = ?");
                values.add(a);
            });
            values.add(q.limit());
            return h.select(sql + " ORDER BY id LIMIT ?", values.toArray()).map(EVENT).list();
        });
    }

    @Override
    public long lastEventId() {
        return database.read(SqlStore::lastEvent);
    }

    @Override
    public long lastOrdinal() {
        return database.read(h -> h.createQuery("SELECT COALESCE(MAX(ordinal), 0) FROM registration").mapTo(Long.class).one());
    }

    @Override
    public Optional<Tenant> tenant(String name) {
        return database.read(h -> h.select("SELECT * FROM tenant WHERE name = ?", name)
                .map((rs, c) -> new Tenant(rs.getString("name"), rs.getInt("max_adapters"), rs.getInt("max_slots"), rs.getLong("tokens_per_day")))
                .findOne());
    }

    @Override
    public void saveTenant(Tenant t) {
        database.write(h -> h.execute("INSERT INTO tenant (name, max_adapters, max_slots, tokens_per_day) VALUES (?, ?, ?, ?) "
                        + "ON CONFLICT (name) DO UPDATE SET max_adapters = excluded.max_adapters, max_slots = excluded.max_slots, "
                        + "tokens_per_day = excluded.tokens_per_day",
                t.name(), t.maxAdapters(), t.maxSlots(), t.tokensPerDay()));
    }

    @Override
    public void saveToken(String sha256, String tenant, String label, Instant at) {
        database.write(h -> h.execute("INSERT INTO token (sha256, tenant, label, created_at) VALUES (?, ?, ?, ?) "
                + "ON CONFLICT (sha256) DO UPDATE SET tenant = excluded.tenant, label = excluded.label", sha256, tenant, label, at.toEpochMilli()));
    }

    @Override
    public Optional<String> tenantOfToken(String sha256) {
        return database.read(h -> h.select("SELECT tenant FROM token WHERE sha256 = ?", sha256).mapTo(String.class).findOne());
    }

    @Override
    public boolean hasTokens() {
        return database.read(h -> h.createQuery("SELECT sha256 FROM token LIMIT 1").mapTo(String.class).findOne().isPresent());
    }

    @Override
    public void revokeToken(String sha256) {
        database.write(h -> h.execute("DELETE FROM token WHERE sha256 = ?", sha256));
    }

    @Override
    public long tokensOn(String tenant, LocalDate day) {
        return database.read(h -> h.select("SELECT COALESCE(SUM(tokens), 0) FROM token_use WHERE tenant = ? AND day = ?", tenant, day.toString())
                .mapTo(Long.class).one());
    }

    @Override
    public Optional<Once> once(String tenant, String key) {
        return database.read(h -> h.select("SELECT digest, registration FROM once WHERE tenant = ? AND key = ?", tenant, key)
                .map((rs, c) -> new Once(key, rs.getString(1), new RegistrationId(rs.getString(2)))).findOne());
    }

    @Override
    public boolean healthy() {
        try {
            return database.write(h -> h.createQuery("SELECT 1").mapTo(Integer.class).one()) == 1;
        } catch (StoreException e) {
            return false;
        }
    }

    @Override
    public boolean mayAct() {
        return database.mayAct();
    }

    @Override
    public void close() {
        database.close();
    }

    private static VersionRow readVersion(ResultSet rs) throws SQLException {
        long inForce = rs.getLong("in_force_at");
        Optional<Instant> at = rs.wasNull() ? Optional.empty() : Optional.of(Instant.ofEpochMilli(inForce));
        return new VersionRow(Documents.read(rs.getString("document"), StepCommit.class), VersionRow.State.valueOf(rs.getString("state")),
                Instant.ofEpochMilli(rs.getLong("committed_at")), at);
    }

    private static ControlEvent readEvent(ResultSet rs) throws SQLException {
        @SuppressWarnings("unchecked")
        Map<String, Object> detail = Documents.read(rs.getString("detail"), Map.class);
        return new ControlEvent(rs.getLong("id"), Instant.ofEpochMilli(rs.getLong("at")), rs.getString("tenant"), rs.getString("adapter"),
                rs.getString("registration"), rs.getString("kind"), detail);
    }
}
