package io.furlong.core;

import java.util.List;

/**
 * A prompt in, samples out, calling the {@link Sampler} any number of times: tools, turns, agents.
 * Found by {@link #name()} through {@code ServiceLoader}; runs on a thread of its own that may block.
 */
public interface Generator {
    String name();

    /** n samples of one prompt, unscored, in index order. */
    List<Sample> generate(Request request) throws SamplerException, InterruptedException;

    /**
     * What a generator gets.
     *
     * @param n       samples wanted
     * @param stamp   the pinned weights: every call of every sample uses them
     * @param sampler sends a turn of sample {@code index} with these input ids; adapter, stamp, seed and deadline are filled in
     */
    record Request(String adapter, AdapterConfig config, Prompt prompt, int n, PolicyStamp stamp, Turn sampler, Tokenizer tokenizer) {}

    /** One request to the engines. */
    interface Turn {
        /**
         * @param index the sample within the group
         * @param turn  zero-based turn within the sample; part of the seed
         */
        SampleResult sample(int index, int turn, int[] inputIds, SamplingConfig sampling) throws SamplerException, InterruptedException;
    }
}
