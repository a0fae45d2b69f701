/**
 * The control plane's state in a database: SQLite in one file or in memory, or PostgreSQL.
 * One set of SQL statements for both; what differs is how a connection is had and who may write.
 * Start reading at {@link io.furlong.control.store.Stores} and {@link io.furlong.control.store.SqlStore}.
 */
@NullMarked
package io.furlong.control.store;

import org.jspecify.annotations.NullMarked;
