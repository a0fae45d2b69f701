/**
 * A run of training from start to end. {@link io.furlong.cli.run.TrainingRun} wires the rooms and holds the loop;
 * {@link io.furlong.cli.run.Caretaker} brings adapters in and sees them off; {@link io.furlong.cli.run.Engines} is where rollouts come from.
 */
@NullMarked
package io.furlong.cli.run;

import org.jspecify.annotations.NullMarked;
