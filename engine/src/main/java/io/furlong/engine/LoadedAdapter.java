package io.furlong.engine;

import io.furlong.torch.LoraWeights;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/**
 * One load of an adapter. Its weights never change; replacing an adapter in place makes a new load with the next generation.
 * The weights are freed when the name no longer leads here and no request uses them. Belongs to the engine's thread.
 */
final class LoadedAdapter {
    private final String name;
    private final Optional<Path> path;
    private final LoraWeights weights;
    private final String digest;
    private final long generation;
    private final long version;
    private final boolean pinned;
    private final CompletableFuture<Void> freed = new CompletableFuture<>();
    private int users;
    private boolean retired;

    /** What is loaded, before the table gives it a generation. */
    record Source(String name, Optional<Path> path, LoraWeights weights, String digest, OptionalLong version, boolean pinned) {}

    LoadedAdapter(Source source, long generation) {
        name = source.name();
        path = source.path();
        weights = source.weights();
        digest = source.digest();
        pinned = source.pinned();
        this.generation = generation;
        version = source.version().orElse(generation);
    }

    String name() {
        return name;
    }

    LoraWeights weights() {
        return weights;
    }

    String digest() {
        return digest;
    }

    /** Differs between any two loads of this engine, whatever their names. */
    long generation() {
        return generation;
    }

    long version() {
        return version;
    }

    boolean pinned() {
        return pinned;
    }

    boolean idle() {
        return users == 0;
    }

    AdapterInfo info() {
        return new AdapterInfo(name, path, weights.maxRank(), digest, generation, version, pinned);
    }

    LoadedAdapter acquire() {
        users++;
        return this;
    }

    void release() {
        users--;
        freeIfUnused();
    }

    /** The name no longer leads here. */
    CompletableFuture<Void> retire() {
        retired = true;
        freeIfUnused();
        return freed;
    }

    private void freeIfUnused() {
        if (retired && users == 0 && !freed.isDone()) {
            weights.close();
            freed.complete(null);
        }
    }
}
