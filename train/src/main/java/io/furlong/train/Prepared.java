package io.furlong.train;

import io.furlong.torch.TorchArtifact;
import java.nio.file.Path;

/**
 * A version that is on disk and may be committed, then published.
 *
 * @param artifact         to publish; its directory is written already; the receiver closes it
 * @param checkpoint       its directory, which survives a power cut
 * @param checkpointDigest SHA-256 of the checkpoint's manifest, 64 hex digits
 */
public record Prepared(TorchArtifact artifact, Path checkpoint, String checkpointDigest) {}
