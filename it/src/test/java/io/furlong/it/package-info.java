/**
 * Tests that need several rooms: whole runs on the shipped base, over real HTTP, from run.yaml to exported adapters.
 */
@NullMarked
package io.furlong.it;

import org.jspecify.annotations.NullMarked;
