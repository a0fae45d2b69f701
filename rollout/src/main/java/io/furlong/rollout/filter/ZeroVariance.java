package io.furlong.rollout.filter;

import io.furlong.core.Group;
import io.furlong.core.GroupFilter;
import java.util.Optional;

/** {@code zero_variance}: refuses groups whose samples all got the same reward, since all their advantages are exactly 0. */
public final class ZeroVariance implements GroupFilter {
    @Override
    public String name() {
        return "zero_variance";
    }

    @Override
    public Optional<String> reject(Group group) {
        return group.zeroVariance() ? Optional.of("zero_variance") : Optional.empty();
    }
}
