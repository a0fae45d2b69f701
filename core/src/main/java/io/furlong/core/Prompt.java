package io.furlong.core;

import java.util.Map;

/**
 * One dataset row, ready to be sampled.
 *
 * @param row      zero-based row in the dataset after filtering
 * @param epoch    zero-based pass over the dataset
 * @param text     what the model reads, chat template applied
 * @param tokenIds the same as token ids, shape [P]
 * @param label    the reference answer; empty text when the dataset has none
 * @param metadata the row's metadata over the adapter's
 * @param retries  how often this row has been tried and failed, aborted or interrupted before
 * @param stale    how often a finished group of this row was dropped as too old; part of the sample seed
 */
public record Prompt(long row, int epoch, String text, int[] tokenIds, String label, Map<String, Object> metadata,
                     int retries, int stale) {
    public Prompt {
        if (row < 0 || epoch < 0 || retries < 0 || stale < 0) {
            throw new IllegalArgumentException("row, epoch, retries and stale must not be negative");
        }
        if (tokenIds.length == 0) {
            throw new IllegalArgumentException("row " + row + ": the prompt has no tokens");
        }
        metadata = Map.copyOf(metadata);
    }

    /** The same row, given back after a failed attempt. */
    public Prompt retried() {
        return new Prompt(row, epoch, text, tokenIds, label, metadata, retries + 1, stale);
    }

    /** The same row, given back because its group got too old. */
    public Prompt restaled() {
        return new Prompt(row, epoch, text, tokenIds, label, metadata, retries, stale + 1);
    }
}
