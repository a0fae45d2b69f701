package io.furlong.control.config;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A value as it was written, with its place. An entry's place is that of its key. */
public sealed interface ConfigNode {
    Place place();

    /** The value in plain Java types; entries and items written as nothing are left out. */
    Object plain();

    /** For messages: the value seen. */
    String shown();

    record Text(Place place, String value) implements ConfigNode {
        @Override
        public Object plain() {
            return value;
        }

        @Override
        public String shown() {
            return "'" + (value.length() > 80 ? value.substring(0, 77) + "..." : value) + "'";
        }
    }

    /** A {@code Long}, a {@code Double}, or a {@code BigInteger} where a long is too small. */
    record Num(Place place, Number value) implements ConfigNode {
        @Override
        public Object plain() {
            return value;
        }

        @Override
        public String shown() {
            return value.toString();
        }
    }

    record Bool(Place place, boolean value) implements ConfigNode {
        @Override
        public Object plain() {
            return value;
        }

        @Override
        public String shown() {
            return Boolean.toString(value);
        }
    }

    /** Written down as empty: takes back what the defaults say. */
    record Nothing(Place place) implements ConfigNode {
        @Override
        public Object plain() {
            return Optional.empty();
        }

        @Override
        public String shown() {
            return "nothing";
        }
    }

    record Items(Place place, List<ConfigNode> values) implements ConfigNode {
        public Items {
            values = List.copyOf(values);
        }

        @Override
        public Object plain() {
            return values.stream().filter(v -> !(v instanceof Nothing)).map(ConfigNode::plain).toList();
        }

        @Override
        public String shown() {
            return "a list";
        }
    }

    record Mapping(Place place, Map<String, ConfigNode> entries) implements ConfigNode {
        public Mapping {
            entries = Collections.unmodifiableMap(new LinkedHashMap<>(entries));
        }

        public static Mapping empty(Place place) {
            return new Mapping(place, Map.of());
        }

        @Override
        public Object plain() {
            Map<String, Object> map = new LinkedHashMap<>();
            entries.forEach((key, value) -> {
                if (!(value instanceof Nothing)) {
                    map.put(key, value.plain());
                }
            });
            return Collections.unmodifiableMap(map);
        }

        @Override
        public String shown() {
            return "a mapping";
        }

        public Mapping without(String key) {
            Map<String, ConfigNode> rest = new LinkedHashMap<>(entries);
            rest.remove(key);
            return new Mapping(place, rest);
        }

        /** These entries over the defaults; mappings are merged entry by entry, everything else replaces. */
        public Mapping over(Mapping defaults) {
            Map<String, ConfigNode> merged = new LinkedHashMap<>();
            Set<String> keys = new LinkedHashSet<>(entries.keySet());
            keys.addAll(defaults.entries.keySet());
            for (String key : keys) {
                ConfigNode own = entries.get(key);
                ConfigNode other = defaults.entries.get(key);
                merged.put(key, own == null ? other
                        : own instanceof Mapping a && other instanceof Mapping b ? a.over(b) : own);
            }
            return new Mapping(place, merged);
        }

        List<String> keys() {
            return new ArrayList<>(entries.keySet());
        }
    }
}
