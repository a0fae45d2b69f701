package io.furlong.rollout.filter;

import io.furlong.core.ConfigException;
import io.furlong.core.FilterConfig;
import io.furlong.core.GroupFilter;
import java.util.List;
import java.util.ServiceLoader;
import java.util.TreeSet;

/** Finds filters by name, through {@code ServiceLoader}; every call makes new instances, so that adapters share none. */
public final class Filters {
    private Filters() {}

    /** @throws ConfigException one line with the name asked for and those there are */
    public static List<GroupFilter> find(List<FilterConfig> configs) {
        return configs.stream().map(Filters::find).toList();
    }

    private static GroupFilter find(FilterConfig config) {
        return ServiceLoader.load(GroupFilter.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(f -> f.name().equals(config.type()))
                .findFirst()
                .orElseThrow(() -> new ConfigException("filters.type", config.type(), "one of " + names()));
    }

    private static String names() {
        TreeSet<String> names = new TreeSet<>();
        ServiceLoader.load(GroupFilter.class).forEach(f -> names.add(f.name()));
        return String.join(", ", names);
    }
}
