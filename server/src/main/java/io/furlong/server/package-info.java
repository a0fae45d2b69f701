/**
 * The HTTP control API: adapters come and go, are watched and changed while they run; figures for Prometheus.
 * Paths and fields of the reference system keep their meaning, so that its clients work unchanged.
 * Start reading at {@link io.furlong.server.ControlServer} and {@link io.furlong.server.AdapterRoutes}.
 */
@NullMarked
package io.furlong.server;

import org.jspecify.annotations.NullMarked;
