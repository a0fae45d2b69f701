package io.furlong.control.store;

import io.furlong.control.Store;
import java.nio.file.Path;

/** Opens a store by what the run file says under {@code store}. */
public final class Stores {
    private Stores() {}

    /** @param store {@code memory}, a {@code jdbc:postgresql:} URL, or the path of a SQLite file */
    public static Store open(String store) {
        if (store.equals("memory")) {
            return memory();
        }
        return new SqlStore(store.startsWith("jdbc:postgresql:") ? PostgresDatabase.url(store) : SqliteDatabase.file(Path.of(store)));
    }

    /** Gone when closed. */
    public static Store memory() {
        return new SqlStore(SqliteDatabase.memory());
    }
}
