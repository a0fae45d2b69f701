package io.furlong.engine;

import io.furlong.torch.KvPrefix;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Keys and values of prompts computed before, for prompts that begin the same.
 *
 * <p>What is found was computed under the same load of the same adapter and for the same {@code extra_key}, and for exactly the tokens asked for:
 * the space is compared as a pair, never joined into one text, and the tokens themselves are compared, not a hash of them.
 *
 * <p>Bounded in tokens; what was unused for longest goes first. An entry that another one begins with is dropped for it. Belongs to the engine's thread.
 */
final class PrefixCache implements AutoCloseable {
    private final int maxTokens;
    private final Map<Space, List<Entry>> spaces = new HashMap<>();
    /** Least recently used first. */
    private final LinkedHashSet<Entry> byUse = new LinkedHashSet<>();
    private long tokens;

    /**
     * @param generation of the adapter's load; 0 for the base
     * @param extraKey   empty if the request had none
     */
    record Space(long generation, String extraKey) {}

    /** The first {@code length} tokens are those asked for. */
    record Match(KvPrefix prefix, int length) {}

    private static final class Entry {
        final Space space;
        final int[] tokens;
        final KvPrefix prefix;

        Entry(Space space, int[] tokens, KvPrefix prefix) {
            this.space = space;
            this.tokens = tokens;
            this.prefix = prefix;
        }
    }

    PrefixCache(int maxTokens) {
        this.maxTokens = maxTokens;
    }

    long tokens() {
        return tokens;
    }

    /** The longest beginning of {@code wanted} that is here. */
    Optional<Match> find(Space space, int[] wanted) {
        Entry best = null;
        int length = 0;
        for (Entry entry : spaces.getOrDefault(space, List.of())) {
            int common = common(entry.tokens, wanted);
            if (common > length) {
                best = entry;
                length = common;
            }
        }
        if (best == null) {
            return Optional.empty();
        }
        byUse.remove(best);
        byUse.addLast(best);
        return Optional.of(new Match(best.prefix, length));
    }

    /** Whether {@code prompt} is worth adding: it fits, and is not here already. */
    boolean wants(Space space, int[] prompt) {
        return prompt.length <= maxTokens
                && spaces.getOrDefault(space, List.of()).stream().noneMatch(entry -> common(entry.tokens, prompt) == prompt.length);
    }

    /** Takes ownership of {@code prefix}, which is that of {@code prompt}. */
    void add(Space space, int[] prompt, KvPrefix prefix) {
        List<Entry> here = spaces.computeIfAbsent(space, s -> new ArrayList<>());
        List.copyOf(here).stream().filter(entry -> common(entry.tokens, prompt) == entry.tokens.length).forEach(this::drop);
        Entry entry = new Entry(space, prompt, prefix);
        spaces.computeIfAbsent(space, s -> new ArrayList<>()).add(entry);
        byUse.addLast(entry);
        tokens += prompt.length;
        while (tokens > maxTokens) {
            drop(byUse.getFirst());
        }
    }

    /** Forgets what was computed under one load of an adapter. */
    void forget(long generation) {
        List.copyOf(byUse).stream().filter(entry -> entry.space.generation() == generation).forEach(this::drop);
    }

    void clear() {
        List.copyOf(byUse).forEach(this::drop);
    }

    @Override
    public void close() {
        clear();
    }

    private void drop(Entry entry) {
        byUse.remove(entry);
        spaces.computeIfPresent(entry.space, (space, entries) -> {
            entries.remove(entry);
            return entries.isEmpty() ? null : entries;
        });
        tokens -= entry.tokens.length;
        entry.prefix.close();
    }

    private static int common(int[] a, int[] b) {
        int mismatch = Arrays.mismatch(a, b);
        return mismatch < 0 ? a.length : mismatch;
    }
}
