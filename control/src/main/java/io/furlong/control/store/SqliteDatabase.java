package io.furlong.control.store;

import io.furlong.control.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.sql.DataSource;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.HandleCallback;
import org.jdbi.v3.core.Jdbi;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteDataSource;

/**
 * SQLite in one file (write-ahead log, synced at every commit) or in memory. Native calls run on two platform threads, one
 * that writes and one that reads, each with its own connection; callers wait. A file belongs to one process at a time,
 * by a lock on a file beside it, which the system frees when the process dies.
 */
final class SqliteDatabase implements Database {
    private final String name;
    private final SQLiteDataSource source;
    private final Optional<FileLock> lock;
    private final Lane writer;
    private final Lane reader;

    private SqliteDatabase(String name, String url, Optional<FileLock> lock) {
        this.name = name;
        this.lock = lock;
        SQLiteConfig config = new SQLiteConfig();
        config.setBusyTimeout(10_000);
        config.enforceForeignKeys(true);
        if (lock.isPresent()) {
            config.setJournalMode(SQLiteConfig.JournalMode.WAL);
            config.setSynchronous(SQLiteConfig.SynchronousMode.FULL);
        } else {
            config.setReadUncommitted(true);
        }
        config.setTransactionMode(SQLiteConfig.TransactionMode.IMMEDIATE);
        this.source = new SQLiteDataSource(config);
        source.setUrl(url);
        this.writer = new Lane("furlong-store-write", source, name);
        this.reader = new Lane("furlong-store-read", source, name);
    }

    /** @throws StoreException one line when another process has the file, or it can't be made */
    static SqliteDatabase file(Path path) {
        Path file = path.toAbsolutePath();
        try {
            Files.createDirectories(file.getParent());
            FileChannel channel = FileChannel.open(file.resolveSibling(file.getFileName() + ".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            Optional<FileLock> lock = tryLock(channel);
            if (lock.isEmpty()) {
                channel.close();
                throw new StoreException("store: '" + path + "' is in use by another Furlong process; stop it, or give this one another store");
            }
            return new SqliteDatabase(path.toString(), "jdbc:sqlite:" + file, lock);
        } catch (IOException e) {
            throw new StoreException("store: can't open '" + path + "': " + e, e);
        }
    }

    static SqliteDatabase memory() {
        return new SqliteDatabase("memory", "jdbc:sqlite:file:" + UUID.randomUUID() + "?mode=memory&cache=shared", Optional.empty());
    }

    private static Optional<FileLock> tryLock(FileChannel channel) throws IOException {
        try {
            return Optional.ofNullable(channel.tryLock());
        } catch (OverlappingFileLockException e) {
            return Optional.empty();
        }
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

    /** The file's lock was taken when it was opened. */
    @Override
    public void lead() {}

    @Override
    public boolean mayAct() {
        return true;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void close() {
        reader.close();
        writer.close();
        if (lock.isPresent()) {
            try {
                lock.get().acquiredBy().close();
            } catch (IOException e) {
                throw new StoreException("store: can't release '" + name + "': " + e.getMessage(), e);
            }
        }
    }

    /** One platform thread with one connection. */
    private static final class Lane {
        private final ExecutorService thread;
        private final Handle handle;
        private final String name;

        Lane(String threadName, DataSource source, String name) {
            this.name = name;
            this.thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().name(threadName).daemon(true).factory());
            try {
                Connection connection = source.getConnection();
                this.handle = Jdbi.create(connection).open();
            } catch (SQLException e) {
                thread.shutdown();
                throw new StoreException("store: can't open '" + name + "': " + e.getMessage(), e);
            }
        }

        /** Waits for the call to end even when the caller is interrupted, since a write half waited for has still happened. */
        <T> T run(HandleCallback<T, RuntimeException> work) {
            Future<T> result = thread.submit(() -> work.withHandle(handle));
            boolean interrupted = false;
            try {
                while (true) {
                    try {
                        return result.get();
                    } catch (InterruptedException e) {
                        interrupted = true;
                    } catch (ExecutionException e) {
                        throw e.getCause() instanceof StoreException s ? s
                                : new StoreException("store: '" + name + "': " + cause(e.getCause()), e.getCause());
                    }
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        /** What the database said, without the statement and its values. */
        private static String cause(Throwable e) {
            String said = String.valueOf(e.getCause() == null ? e.getMessage() : e.getCause().getMessage());
            return said.lines().findFirst().orElse("");
        }

        void close() {
            run(h -> {
                h.close();
                return true;
            });
            thread.shutdown();
        }
    }
}
