/**
 * The program {@code furlong}: its commands and what they show. A mistake of the user is one line and an exit code.
 * Start reading at {@link io.furlong.cli.Furlong}.
 */
@NullMarked
package io.furlong.cli;

import org.jspecify.annotations.NullMarked;
