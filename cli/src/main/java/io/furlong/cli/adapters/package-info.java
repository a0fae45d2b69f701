/**
 * {@code furlong adapters}: a client of the control API for people. Each command is one request and one table or line.
 * Start reading at {@link io.furlong.cli.adapters.ControlClient}.
 */
@NullMarked
package io.furlong.cli.adapters;

import org.jspecify.annotations.NullMarked;
