/**
 * Training state on disk: one directory a version, which engines load as a PEFT adapter and the trainer continues from bit for bit.
 * A directory is there whole or not at all: written under another name, forced to disk, renamed; every file's SHA-256 is in its manifest.
 * Start reading at {@link io.furlong.train.checkpoint.Checkpoint}.
 */
@NullMarked
package io.furlong.train.checkpoint;

import org.jspecify.annotations.NullMarked;
