package io.furlong.rollout;

import io.furlong.core.AdapterConfig;
import io.furlong.core.Group;
import io.furlong.core.GroupFilter;
import io.furlong.core.PromptSource;
import io.furlong.rollout.filter.Filters;
import io.furlong.rollout.filter.ZeroVariance;
import io.furlong.rollout.reward.RewardRunner;
import io.furlong.rollout.reward.RewardRunner.RewardException;
import io.furlong.rollout.reward.Rewards;
import io.furlong.rollout.reward.UnscorableException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What one adapter works with: its dataset, its reward, its filters. Opened by the thread that first reads rows, so that nobody
 * else waits for a file or a class; nothing is admitted before. The dataset is used by one thread at a time.
 */
final class StreamKit {
    private final String adapter;
    private final AdapterConfig config;
    private final PromptSources sources;
    private final Rewards rewards;
    private final int stuckBound;
    private final IntConsumer allStuck;
    private @Nullable PromptSource source;
    private volatile @Nullable RewardRunner runner;
    private volatile List<GroupFilter> filters = List.of();
    private boolean closed;

    StreamKit(String adapter, AdapterConfig config, PromptSources sources, Rewards rewards, int stuckBound, IntConsumer allStuck) {
        this.adapter = adapter;
        this.config = config;
        this.sources = sources;
        this.rewards = rewards;
        this.stuckBound = stuckBound;
        this.allStuck = allStuck;
    }

    /**
     * Finds the reward and the filters; they may be used from then on.
     *
     * @throws IllegalStateException if the adapter has ended
     */
    synchronized void open() {
        if (closed) {
            throw new IllegalStateException("adapter '" + adapter + "' has ended");
        }
        if (runner == null) {
            runner = new RewardRunner(adapter, rewards.find(config.reward()), config.reward().timeout(), stuckBound, allStuck);
            filters = Filters.find(config.filters());
        }
    }

    /** Empty when the adapter has ended meanwhile. */
    synchronized Optional<PromptQueue.Block> read(PromptQueue prompts) {
        if (closed) {
            return Optional.empty();
        }
        open();
        PromptSource s = source;
        if (s == null) {
            s = sources.open(adapter, config, config.data());
            source = s;
        }
        return Optional.of(prompts.read(s));
    }

    RewardRunner rewards() {
        return Objects.requireNonNull(runner, "rows are read before anything is scored");
    }

    /** Reasons to filter the group, by filter. */
    Map<String, String> rejections(Group group) throws RewardException, UnscorableException, InterruptedException {
        Map<String, String> reasons = new HashMap<>();
        for (GroupFilter f : filters) {
            Optional<String> reason = f instanceof ZeroVariance ? f.reject(group) : rewards().run("filter " + f.name(), () -> f.reject(group));
            reason.ifPresent(r -> reasons.put(f.name(), r));
        }
        return reasons;
    }

    int stuckRewards() {
        RewardRunner r = runner;
        return r == null ? 0 : r.stuck();
    }

    long abandonedRewards() {
        RewardRunner r = runner;
        return r == null ? 0 : r.abandoned();
    }

    synchronized void close() {
        closed = true;
        RewardRunner r = runner;
        if (r != null) {
            r.close();
        }
        if (source != null) {
            source.close();
            source = null;
        }
    }
}
