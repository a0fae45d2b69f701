package io.furlong.cli.report;

import io.furlong.core.AdapterState;
import java.util.OptionalDouble;

/**
 * How one adapter stands now.
 *
 * @param targetStep      the step at which it ends; 0 when only other rules end it
 * @param rewardMean      of its last step
 * @param staleness       of the oldest group of its last step, optimizer steps
 * @param version         in force; 0 when none yet
 * @param tokensGenerated response tokens so far; the view makes tokens/s of it
 */
public record LiveLine(String name, AdapterState state, long step, long targetStep, OptionalDouble rewardMean, int staleness,
                       long version, long tokensGenerated) {}
