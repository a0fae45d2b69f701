package io.furlong.sglang;

import java.time.Duration;
import java.util.Optional;

/**
 * How a fleet is run.
 *
 * @param router            generation goes through it; empty for direct routing
 * @param workers           who tells the router which engines it has
 * @param publish           how new weights come to engines
 * @param failuresToSuspect failures in a row that set an engine aside
 * @param firstPause        before an engine that was set aside is looked at again; doubles up to {@code longestPause}
 * @param watchInterval     between two looks at what engines there are and what they hold
 * @param callDeadline      for calls that should be quick: listing, settings, aborts
 * @param loadDeadline      for one load, and for one canary
 * @param unloadDeadline    for one unload; an engine past it is out
 * @param maxLeakedLoras    adapters that can't be unloaded, on one engine, before it has to be restarted
 */
public record FleetConfig(Optional<SglangClient> router, Workers workers, Publish publish, int failuresToSuspect, Duration firstPause,
                          Duration longestPause, Duration watchInterval, Duration callDeadline, Duration loadDeadline, Duration unloadDeadline,
                          int maxLeakedLoras) {
    /** Whose business the router's list of workers is. */
    public enum Workers { LEFT_ALONE, MANAGED }

    /** How new weights come to engines. */
    public enum Publish {
        /** A new name for each version. */
        VERSIONED,
        /** One name a slot, its weights replaced in place. */
        SLOT,
        /** By somebody else: the embedded engine in the same process, say. */
        ELSEWHERE
    }

    /** Straight to the engines, a new name for each version. */
    public static final FleetConfig DIRECT = new FleetConfig(Optional.empty(), Workers.LEFT_ALONE, Publish.VERSIONED, 5, Duration.ofSeconds(1),
            Duration.ofSeconds(30), Duration.ofSeconds(5), Duration.ofSeconds(5), Duration.ofSeconds(10), Duration.ofSeconds(10), 64);

    public FleetConfig withRouter(SglangClient client, Workers who) {
        return new FleetConfig(Optional.of(client), who, publish, failuresToSuspect, firstPause, longestPause, watchInterval, callDeadline,
                loadDeadline, unloadDeadline, maxLeakedLoras);
    }

    public FleetConfig withPublish(Publish how) {
        return new FleetConfig(router, workers, how, failuresToSuspect, firstPause, longestPause, watchInterval, callDeadline, loadDeadline,
                unloadDeadline, maxLeakedLoras);
    }

    public FleetConfig withDeadlines(Duration call, Duration load, Duration unload) {
        return new FleetConfig(router, workers, publish, failuresToSuspect, firstPause, longestPause, watchInterval, call, load, unload,
                maxLeakedLoras);
    }

    public FleetConfig withPauses(Duration first, Duration longest, Duration watch) {
        return new FleetConfig(router, workers, publish, failuresToSuspect, first, longest, watch, callDeadline, loadDeadline, unloadDeadline,
                maxLeakedLoras);
    }

    public FleetConfig withMaxLeakedLoras(int max) {
        return new FleetConfig(router, workers, publish, failuresToSuspect, firstPause, longestPause, watchInterval, callDeadline, loadDeadline,
                unloadDeadline, max);
    }

    boolean keepsAdapters() {
        return publish != Publish.ELSEWHERE;
    }
}
