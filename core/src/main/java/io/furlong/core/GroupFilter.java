package io.furlong.core;

import java.util.Optional;

/** Decides whether a scored group is worth training on. Found by {@link #name()} through {@code ServiceLoader}. */
public interface GroupFilter {
    String name();

    /** Empty to keep the group; otherwise the reason, a short word used as a metric label. */
    Optional<String> reject(Group group);
}
