package io.furlong.engine;

import java.nio.file.Path;
import java.util.Optional;

/**
 * An adapter as listed.
 *
 * @param path       the directory it was read from; absent when it was handed over in memory
 * @param rank       the largest of its layers
 * @param digest     SHA-256 of the weights, computed here
 * @param generation number of this load within the engine
 * @param version    as given by whoever loaded it, otherwise the generation
 */
public record AdapterInfo(String name, Optional<Path> path, int rank, String digest, long generation, long version, boolean pinned) {}
