package io.furlong.control.store;

import io.furlong.control.StoreException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.HandleCallback;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * PostgreSQL: one connection that writes, one that reads, each used by one caller at a time and opened again after it broke.
 * Every write is fenced by the {@link Lease}. A writer that is stopped within a transaction is cut off by the server after
 * three seconds, so that it holds up nobody who takes over.
 */
final class PostgresDatabase implements Database {
    private static final String CUT_OFF = "-c idle_in_transaction_session_timeout=3000";

    private final PGSimpleDataSource source = new PGSimpleDataSource();
    private final String name;
    private final Runnable onLost;
    private final Lane writer = new Lane();
    private final Lane reader = new Lane();
    private volatile Optional<Lease> lease = Optional.empty();

    private PostgresDatabase(String url, Runnable onLost) {
        source.setUrl(url);
        source.setConnectTimeout(5);
        source.setSocketTimeout(10);
        source.setOptions(source.getOptions() == null ? CUT_OFF : source.getOptions() + " " + CUT_OFF);
        this.name = "postgresql://" + String.join(",", source.getServerNames()) + "/" + source.getDatabaseName();
        this.onLost = onLost;
    }

    static PostgresDatabase url(String jdbcUrl, Runnable onLost) {
        return new PostgresDatabase(jdbcUrl, onLost);
    }

    @Override
    public DataSource migrations() {
        return source;
    }

    @Override
    public void lead() {
        lease = Optional.of(Lease.acquire(source, host() + "/" + ProcessHandle.current().pid(), onLost));
    }

    @Override
    public boolean mayAct() {
        return lease.map(Lease::mayAct).orElse(false);
    }

    @Override
    public <T> T write(HandleCallback<T, RuntimeException> work) {
        Lease held = lease.orElseThrow(() -> new StoreException("store: " + name + " is written before the lease is held"));
        return writer.run(h -> h.inTransaction(t -> {
            held.check(t);
            return work.withHandle(t);
        }));
    }

    @Override
    public <T> T read(HandleCallback<T, RuntimeException> work) {
        return reader.run(work);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void close() {
        lease.ifPresent(Lease::close);
        writer.close();
        reader.close();
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }

    /** One connection, guarded by its lock. */
    private final class Lane {
        private final ReentrantLock lock = new ReentrantLock();
        private final Jdbi jdbi = Jdbi.create(source);
        private Optional<Handle> handle = Optional.empty();

        <T> T run(HandleCallback<T, RuntimeException> work) {
            lock.lock();
            try {
                if (handle.isEmpty()) {
                    handle = Optional.of(jdbi.open());
                }
                return work.withHandle(handle.get());
            } catch (JdbiException e) {
                reset();
                throw new StoreException("store: " + name + ": " + cause(e), e);
            } finally {
                lock.unlock();
            }
        }

        /** What the database said, without the statement and its values. */
        private static String cause(JdbiException e) {
            String said = String.valueOf(e.getCause() == null ? e.getMessage() : e.getCause().getMessage());
            return said.lines().findFirst().orElse("");
        }

        private void reset() {
            try {
                if (handle.isPresent() && !handle.get().getConnection().isValid(1)) {
                    close();
                }
            } catch (SQLException broken) {
                close();
            }
        }

        void close() {
            lock.lock();
            try {
                handle.ifPresent(Handle::close);
            } catch (JdbiException broken) {
                // The connection is gone either way.
            } finally {
                handle = Optional.empty();
                lock.unlock();
            }
        }
    }
}
