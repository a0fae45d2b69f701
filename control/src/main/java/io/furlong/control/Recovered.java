package io.furlong.control;

import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import java.util.Optional;

/**
 * A registration as the last process left it: what the loop has to build up again before the adapter goes on.
 *
 * @param last     its last committed step: checkpoint to restore, cursor to go on from; empty if it never committed
 * @param ledger   of that commit, open attempts booked as REQUEUED(crash)
 * @param toPush   the version to push again, same number and digest: the one that was PREPARED, else the one in force
 */
public record Recovered(Registration registration, Optional<VersionRow> last, LedgerSnapshot ledger, Optional<PolicyStamp> toPush) {}
