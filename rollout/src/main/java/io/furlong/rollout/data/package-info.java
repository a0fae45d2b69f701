/**
 * Datasets: JSONL, Parquet and CSV files read through DuckDB, row by row, in an order that depends on the run seed alone.
 * Native calls run on a small pool of platform threads of their own.
 * Every mistake in a file is one line that names the file, the row or line, the column, and what would be right.
 */
@NullMarked
package io.furlong.rollout.data;

import org.jspecify.annotations.NullMarked;
