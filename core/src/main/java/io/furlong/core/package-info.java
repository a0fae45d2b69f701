/**
 * The nouns of Furlong and the seams between its rooms.
 * Values are immutable and check themselves on construction; nothing here does I/O or knows a third-party type.
 * Start reading at {@link io.furlong.core.Adapter}, {@link io.furlong.core.Group} and {@link io.furlong.core.RegistrySnapshot}.
 */
@NullMarked
package io.furlong.core;

import org.jspecify.annotations.NullMarked;
