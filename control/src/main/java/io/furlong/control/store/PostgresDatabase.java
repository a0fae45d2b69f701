package io.furlong.control.store;

import io.furlong.control.StoreException;
import java.sql.SQLException;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.HandleCallback;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * PostgreSQL: one connection that writes, one that reads, each used by one caller at a time and opened again after it broke.
 */
final class PostgresDatabase implements Database {
    private final PGSimpleDataSource source = new PGSimpleDataSource();
    private final String name;
    private final Lane writer = new Lane();
    private final Lane reader = new Lane();

    private PostgresDatabase(String url) {
        source.setUrl(url);
        source.setConnectTimeout(5);
        source.setSocketTimeout(10);
        this.name = "postgresql://" + String.join(",", source.getServerNames()) + "/" + source.getDatabaseName();
    }

    static PostgresDatabase url(String jdbcUrl) {
        return new PostgresDatabase(jdbcUrl);
    }

    @Override
    public DataSource migrations() {
        return source;
    }

    @Override
    public <T> T write(HandleCallback<T, RuntimeException> work) {
        return writer.run(h -> h.inTransaction(work));
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
        writer.close();
        reader.close();
    }

    /** One connection, guarded by its lock. */
    private final class Lane {
        private final ReentrantLock lock = new ReentrantLock();
        private final Jdbi jdbi = Jdbi.create(source);
        private java.util.Optional<Handle> handle = java.util.Optional.empty();

        <T> T run(HandleCallback<T, RuntimeException> work) {
            lock.lock();
            try {
                if (handle.isEmpty()) {
                    handle = java.util.Optional.of(jdbi.open());
                }
                return work.withHandle(handle.get());
            } catch (JdbiException e) {
                reset();
                throw new StoreException("store: " + name + ": " + e.getMessage(), e);
            } finally {
                lock.unlock();
            }
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
                handle = java.util.Optional.empty();
                lock.unlock();
            }
        }
    }
}
