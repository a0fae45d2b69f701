package io.furlong.rollout;

import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import java.time.Duration;

/** What a rollout tells its owner. Calls come one at a time, in order, on a thread of their own, never under a lock. */
public interface RolloutListener {
    /**
     * The adapter can't go on: bad data, rewards that hang, groups that fail one after another. Nothing more is admitted for
     * it; the owner moves the registration to FAILED with this reason.
     */
    void adapterFault(String adapter, RegistrationId registration, String reason);

    /** Nothing pins this version any more and it is not in force: the engines may unload it. At most once a version. */
    void release(PolicyStamp stamp);

    /** {@link Rollout#collect} found no group for this long. */
    void emptyBatch(Duration waited);
}
