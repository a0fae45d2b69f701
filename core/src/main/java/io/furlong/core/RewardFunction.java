package io.furlong.core;

/**
 * Scores one response. Written by users and found by {@link #name()} through {@code ServiceLoader}. Runs on a small pool of
 * platform threads of its adapter; may throw, block or loop: the call is given up on at the deadline.
 */
public interface RewardFunction {
    /** The name used in {@code rm_type} or {@code custom_rm_path}. */
    String name();

    /**
     * @param prompt the row, with label and metadata
     * @param sample the response; its reward is not set yet
     * @return a finite number
     */
    double score(Prompt prompt, Sample sample) throws Exception;
}
