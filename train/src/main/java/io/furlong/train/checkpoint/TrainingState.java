package io.furlong.train.checkpoint;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Where an adapter's training stands, beside its weights and moments. Training draws no random numbers after the first weights are made, so
 * there is no random state to keep but the seed of those.
 *
 * @param adapter       its name
 * @param registration  32 hex digits
 * @param version       number of this state of the weights
 * @param step          optimizer steps taken
 * @param updates       updates the moments have seen
 * @param scheduleFirst step at which the learning-rate schedule started
 * @param vetoes        vetoes since the last step
 * @param seed          of the first weights; 0 when they came from elsewhere
 * @param digest        SHA-256 of the weights, 64 hex digits
 * @param servedName    the name engines know this version by
 */
public record TrainingState(String adapter, String registration, long version, long step, long updates,
                            @JsonProperty("schedule_first") long scheduleFirst, int vetoes, long seed, String digest,
                            @JsonProperty("served_name") String servedName) {}
