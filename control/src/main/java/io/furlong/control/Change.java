package io.furlong.control;

import io.furlong.core.PolicyStamp;
import io.furlong.core.StepCommit;
import java.util.List;
import java.util.Optional;

/**
 * One transaction on the store: the registration as it is afterwards, what else changes with it, and the events to tell.
 * All or nothing; durable when {@link Store#write} returns.
 */
public sealed interface Change {
    Registration registration();

    List<ControlEvent> events();

    /** A new registration, and the key of the request that made it. */
    record Registered(Registration registration, Optional<Store.Once> once, List<ControlEvent> events) implements Change {}

    /** State, slot, configuration or wishes changed, or a version number was given. */
    record Moved(Registration registration, List<ControlEvent> events) implements Change {}

    /** A step and its version, PREPARED; tokens are booked on the tenant's account of the day. */
    record Committed(Registration registration, StepCommit commit, long newTokens, List<ControlEvent> events) implements Change {}

    /** A version is in force; those from {@code supersededFrom} up to it no longer are. */
    record InForce(Registration registration, PolicyStamp stamp, long supersededFrom, List<ControlEvent> events) implements Change {}

    /** Files of versions are gone. */
    record Removed(Registration registration, List<Long> versions, List<ControlEvent> events) implements Change {}
}
