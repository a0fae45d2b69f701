/**
 * The file {@code run.yaml}: one run or service, with the defaults of its adapters and the adapters themselves.
 * Everything in it is checked at once; each mistake is one line with file, line and key.
 * Start reading at {@link io.furlong.cli.config.RunConfig}.
 */
@NullMarked
package io.furlong.cli.config;

import org.jspecify.annotations.NullMarked;
