/**
 * What SGLang's HTTP API says on the wire, as records: read by the embedded engine, written by the client, and the other way round.
 * Requests are read as strictly as SGLang reads them, replies leniently: a field nobody knows is skipped.
 * Start reading at {@link io.furlong.wire.GenerateRequest} and {@link io.furlong.wire.GenerateResponse}.
 */
@NullMarked
package io.furlong.wire;

import org.jspecify.annotations.NullMarked;
