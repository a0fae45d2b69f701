package io.furlong.engine;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;

/**
 * Which adapters are loaded, by served name.
 *
 * <p>Every load has a generation of its own, so that nothing computed under one load (cached prefixes above all) is ever taken for another's.
 * A name that was unloaded is remembered with its directory, as SGLang does: a later request for it loads it again from there.
 *
 * <p>Belongs to the engine's thread; {@link #listed} and {@link #remembered} may be read by any.
 */
final class AdapterTable {
    private static final int MOST_REMEMBERED = 4096;

    private final OptionalInt maxLoaded;
    /** Least recently used first. */
    private final LinkedHashMap<String, LoadedAdapter> byName = new LinkedHashMap<>(16, 0.75f, true);
    private final LinkedHashMap<String, Path> paths = new LinkedHashMap<>();
    private long generations;
    private volatile Map<String, AdapterInfo> listed = Map.of();
    private volatile Map<String, Path> remembered = Map.of();

    AdapterTable(OptionalInt maxLoaded) {
        this.maxLoaded = maxLoaded;
    }

    /** Loaded adapters in order of loading. */
    List<AdapterInfo> listed() {
        return listed.values().stream().sorted((a, b) -> Long.compare(a.generation(), b.generation())).toList();
    }

    Optional<AdapterInfo> listed(String name) {
        return Optional.ofNullable(listed.get(name));
    }

    /** Where an unloaded name was loaded from. */
    Optional<Path> remembered(String name) {
        return Optional.ofNullable(remembered.get(name));
    }

    /** Takes ownership of the weights, unless it throws. */
    LoadedAdapter load(LoadedAdapter.Source source) throws AdapterRefused {
        if (byName.containsKey(source.name())) {
            throw new AdapterRefused("Failed to load LoRA adapter " + source.name() + " because it is already loaded");
        }
        makeRoom(source.name());
        return put(source);
    }

    /** Replaces the weights of a loaded name, or loads it. Takes ownership of the weights, unless it throws. */
    Upsert upsert(LoadedAdapter.Source source) throws AdapterRefused {
        Optional<LoadedAdapter> old = Optional.ofNullable(byName.get(source.name()));
        if (old.isEmpty()) {
            makeRoom(source.name());
        }
        return new Upsert(old, put(source));
    }

    record Upsert(Optional<LoadedAdapter> old, LoadedAdapter now) {}

    /** @return done when no request uses the weights any more and they are freed */
    CompletableFuture<Void> unload(String name) throws AdapterRefused {
        LoadedAdapter adapter = byName.remove(name);
        if (adapter == null) {
            throw new AdapterRefused("LoRA with name " + name + " does not exist. Loaded LoRAs: " + byName.keySet());
        }
        publish();
        return adapter.retire();
    }

    /** The adapter a request is to run under; the caller releases it. */
    Optional<LoadedAdapter> acquire(String name) {
        return Optional.ofNullable(byName.get(name)).map(LoadedAdapter::acquire);
    }

    void close() {
        byName.values().forEach(LoadedAdapter::retire);
        byName.clear();
        publish();
    }

    private LoadedAdapter put(LoadedAdapter.Source source) {
        LoadedAdapter adapter = new LoadedAdapter(source, ++generations);
        byName.put(source.name(), adapter);
        // What is served from memory can't come back from a directory that the name had before.
        source.path().ifPresentOrElse(path -> paths.putLast(source.name(), path), () -> paths.remove(source.name()));
        if (paths.size() > MOST_REMEMBERED) {
            paths.pollFirstEntry();
        }
        publish();
        return adapter;
    }

    private void makeRoom(String name) throws AdapterRefused {
        if (maxLoaded.isEmpty() || byName.size() < maxLoaded.getAsInt()) {
            return;
        }
        String unused = byName.values().stream().filter(a -> a.idle() && !a.pinned()).findFirst().map(LoadedAdapter::name)
                .orElseThrow(() -> new AdapterRefused("Failed to load LoRA adapter " + name + ": all " + maxLoaded.getAsInt()
                        + " places (--max-loaded-loras) hold adapters that are pinned or in use; unload one or raise the limit"));
        byName.remove(unused).retire();
    }

    private void publish() {
        Map<String, AdapterInfo> now = new HashMap<>();
        byName.forEach((name, adapter) -> now.put(name, adapter.info()));
        listed = Map.copyOf(now);
        remembered = Map.copyOf(paths);
    }
}
