package io.furlong.core;

/**
 * @param type         a {@link GroupFilter} by name, such as {@code zero_variance}
 * @param limitPerStep groups a step may lose to it; after that they are taken, so that a filtering adapter always finishes
 */
public record FilterConfig(String type, int limitPerStep) {
    public FilterConfig {
        Check.field("filters.limit_per_step", limitPerStep, limitPerStep >= 0, "≥ 0");
    }
}
