/**
 * Reads what people write: adapter.yaml files, the defaults of a run.yaml, and the JSON of the HTTP API.
 * Strict in keys and types; every mistake found is one line with file, line, key, the value seen and what would be right.
 * Start reading at {@link io.furlong.control.config.AdapterConfigReader} and {@link io.furlong.control.config.Fields}.
 */
@NullMarked
package io.furlong.control.config;

import org.jspecify.annotations.NullMarked;
