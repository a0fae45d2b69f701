package io.furlong.control.store;

import io.furlong.control.LeaseLostException;
import io.furlong.control.StoreException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jdbi.v3.core.Handle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leadership among control planes that share a PostgreSQL database.
 *
 * <p>Invariants. The fence rises with each change of leader. {@link #check} runs inside each write's transaction and locks
 * the lease's row against a change of leader until the transaction ends, so a write is accepted only from the leader of
 * that moment. The leader renews at a sixth of the term; once the last renewal that succeeded is half a term old,
 * {@link #mayAct} is false, long before anyone else can lead. A lease that was lost is never won back by the same object.
 */
final class Lease implements AutoCloseable {
    /** Nobody takes over before this has passed since the last renewal. */
    static final Duration TERM = Duration.ofSeconds(6);

    private static final Logger LOG = LoggerFactory.getLogger(Lease.class);
    private static final String NOW = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint";

    private final DataSource source;
    private final String holder;
    private final Runnable onLost;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition closing = lock.newCondition();
    private boolean closed;
    private final long fence;
    /** {@link System#nanoTime} just before the last renewal that succeeded was sent. */
    private volatile long renewed;
    private volatile boolean lost;

    private Lease(DataSource source, String holder, Runnable onLost, long fence, long renewed) {
        this.source = source;
        this.holder = holder;
        this.onLost = onLost;
        this.fence = fence;
        this.renewed = renewed;
    }

    /** Waits until nobody else leads, then leads. */
    static Lease acquire(DataSource source, String holder, Runnable onLost) {
        try (Connection connection = source.getConnection()) {
            update(connection, "INSERT INTO lease (name, holder, fence, expires_at) VALUES ('control', '', 0, 0) ON CONFLICT (name) DO NOTHING");
            boolean waited = false;
            while (true) {
                long before = System.nanoTime();
                Optional<Long> fence = number(connection, "UPDATE lease SET holder = ?, fence = fence + 1, expires_at = " + NOW + " + " + TERM.toMillis()
                        + " WHERE name = 'control' AND expires_at <= " + NOW + " RETURNING fence", holder);
                if (fence.isPresent()) {
                    Lease lease = new Lease(source, holder, onLost, fence.get(), before);
                    Thread.ofPlatform().name("furlong-lease").daemon(true).start(lease::renewUntilClosed);
                    LOG.info("leading, fence {}", lease.fence);
                    return lease;
                }
                if (!waited) {
                    LOG.info("another control plane leads; waiting to take over");
                    waited = true;
                }
                long left = number(connection, "SELECT expires_at - " + NOW + " FROM lease WHERE name = 'control'").orElse(0L);
                awaitMillis(Math.max(10, left));
            }
        } catch (SQLException e) {
            throw new StoreException("store: can't take the lease: " + e.getMessage(), e);
        }
    }

    /** Refuses the transaction it is called in unless this lease leads; holds the lease's row until that transaction ends. */
    void check(Handle handle) {
        Optional<Long> current = handle.createQuery("SELECT fence FROM lease WHERE name = 'control' FOR SHARE").mapTo(Long.class).findOne();
        if (current.filter(f -> f == fence).isEmpty()) {
            lost();
            throw new LeaseLostException("store: another control plane leads now (fence " + current.orElse(0L) + ", ours was " + fence + ")");
        }
    }

    /** True while calls to the outside are allowed. */
    boolean mayAct() {
        return !lost && System.nanoTime() - renewed < TERM.toNanos() / 2;
    }

    private void renewUntilClosed() {
        while (!lost && waitToRenew()) {
            long before = System.nanoTime();
            try (Connection connection = source.getConnection()) {
                Optional<Long> still = number(connection, "UPDATE lease SET expires_at = " + NOW + " + " + TERM.toMillis()
                        + " WHERE name = 'control' AND fence = " + fence + " RETURNING fence");
                if (still.isEmpty()) {
                    lost();
                } else {
                    renewed = before;
                }
            } catch (SQLException e) {
                LOG.warn("can't renew the lease, outside calls stop in {} ms: {}",
                        Math.max(0, (TERM.toNanos() / 2 - (System.nanoTime() - renewed)) / 1_000_000), e.getMessage());
            }
        }
    }

    private void lost() {
        lock.lock();
        try {
            if (lost) {
                return;
            }
            lost = true;
        } finally {
            lock.unlock();
        }
        LOG.error("another control plane leads now; this one stops");
        onLost.run();
    }

    /** False when closed. */
    private boolean waitToRenew() {
        lock.lock();
        try {
            long left = TERM.toNanos() / 6;
            while (!closed && left > 0) {
                left = closing.awaitNanos(left);
            }
            return !closed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    private static void awaitMillis(long millis) {
        ReentrantLock nobody = new ReentrantLock();
        nobody.lock();
        try {
            long left = millis * 1_000_000;
            Condition never = nobody.newCondition();
            while (left > 0) {
                left = never.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("store: stopped while waiting to take over", e);
        } finally {
            nobody.unlock();
        }
    }

    private static void update(Connection connection, String sql) throws SQLException {
        try (PreparedStatement s = connection.prepareStatement(sql)) {
            s.executeUpdate();
        }
    }

    private static Optional<Long> number(Connection connection, String sql, String... values) throws SQLException {
        try (PreparedStatement s = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                s.setString(i + 1, values[i]);
            }
            try (ResultSet rs = s.executeQuery()) {
                return rs.next() ? Optional.of(rs.getLong(1)) : Optional.empty();
            }
        }
    }

    /** Gives the lease up, so that another may lead at once. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            closing.signalAll();
        } finally {
            lock.unlock();
        }
        if (lost) {
            return;
        }
        lost = true;
        try (Connection connection = source.getConnection()) {
            update(connection, "UPDATE lease SET expires_at = 0 WHERE name = 'control' AND fence = " + fence);
        } catch (SQLException e) {
            LOG.warn("can't give up the lease, it runs out by itself: {}", e.getMessage());
        }
        LOG.info("{} leads no more", holder);
    }
}
