package io.furlong.rollout;

import io.furlong.core.Group;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One dispatch of one prompt, from admission to its outcome. Identity is what counts, so it is no record. The mutable fields are
 * guarded by the lock of {@link Streams}.
 */
final class Attempt {
    final AdapterStream stream;
    final long ticket;
    final long dispatch;
    final Prompt prompt;
    final PolicyStamp stamp;
    final int maxStaleness;
    /** Requests it may send without asking the shared limit again. */
    final int reserved;

    /** Where the ledger counts it; null once it has ended. */
    Ledger.@Nullable Place place = Ledger.Place.IN_FLIGHT;
    /** The finished group; null while it is being made. */
    @Nullable Group group;
    /** Reasons to filter it, by filter; judged when those before it are. */
    Map<String, String> rejections = Map.of();
    /** The thread that makes it; null before it starts. */
    volatile @Nullable Thread runner;

    Attempt(AdapterStream stream, PromptQueue.Ticket ticket, long dispatch, PolicyStamp stamp, int maxStaleness, int reserved) {
        this.stream = stream;
        this.ticket = ticket.number();
        this.prompt = ticket.prompt();
        this.dispatch = dispatch;
        this.stamp = stamp;
        this.maxStaleness = maxStaleness;
        this.reserved = reserved;
    }

    boolean open() {
        return place != null;
    }

    boolean at(Ledger.Place where) {
        return place == where;
    }
}
