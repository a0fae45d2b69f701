package io.furlong.core;

import java.nio.file.Path;

/**
 * What becomes durable in one transaction when an adapter has taken an optimizer step (or made its first version, step 0).
 *
 * @param stamp           the new version, its step and digest; state PREPARED until it is in force
 * @param checkpoint      directory with the training state, written and synced before this
 * @param checkpointDigest SHA-256 of the checkpoint's manifest
 * @param ledger          as it will be once this step is committed: its groups are TRAINED
 * @param cursor          of the dataset, with the rows that stay open
 * @param generatedTokens response tokens of all attempts since registration
 * @param trainedTokens   response tokens trained since registration
 */
public record StepCommit(String adapter, PolicyStamp stamp, Path checkpoint, String checkpointDigest, LedgerSnapshot ledger,
                         Cursor cursor, long generatedTokens, long trainedTokens) {}
