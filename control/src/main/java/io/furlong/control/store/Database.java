package io.furlong.control.store;

import javax.sql.DataSource;
import org.jdbi.v3.core.HandleCallback;

/** Connections to one database: one for writing, one for reading beside it. */
sealed interface Database extends AutoCloseable permits SqliteDatabase, PostgresDatabase {
    /** For the schema's migrations, before anything else. */
    DataSource migrations();

    /** One transaction, durable when this returns; rolled back when the callback throws. */
    <T> T write(HandleCallback<T, RuntimeException> work);

    <T> T read(HandleCallback<T, RuntimeException> work);

    /** Returns when this process is the only one that may write; called once, when the schema is there. */
    void lead();

    /** True while this process may act on the outside. */
    boolean mayAct();

    /** Where the data is, for messages. */
    String name();

    @Override
    void close();
}
