package io.furlong.control.store;

import io.furlong.control.Store;
import java.nio.file.Path;

/** Opens a store by what the run file says under {@code store}. */
public final class Stores {
    private Stores() {}

    /** The same with nothing to do when another control plane takes over: writes fail from then on. */
    public static Store open(String store) {
        return open(store, () -> { });
    }

    /**
     * @param store  {@code memory}, a {@code jdbc:postgresql:} URL, or the path of a SQLite file. With PostgreSQL it waits
     *               until no other control plane leads
     * @param onLost called once, on any thread, when another control plane has taken over: this process should end
     */
    public static Store open(String store, Runnable onLost) {
        if (store.equals("memory")) {
            return memory();
        }
        return new SqlStore(store.startsWith("jdbc:postgresql:") ? PostgresDatabase.url(store, onLost) : SqliteDatabase.file(Path.of(store)));
    }

    /** Gone when closed. */
    public static Store memory() {
        return new SqlStore(SqliteDatabase.memory());
    }
}
