package io.furlong.control.config;

import io.furlong.core.ConfigException;
import java.math.BigInteger;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A strict view of one mapping. A key that is asked for becomes a known key; what is left over at {@link #finish} is unknown.
 * A value of the wrong type is noted and answered with the fallback, so that one reading finds every mistake; nothing read
 * may be used before {@code finish} has returned. Numbers are not taken from text, nor integers from {@code 8.0}.
 * For one thread.
 */
public final class Fields {
    private final ConfigNode.Mapping mapping;
    private final String path;
    private final Set<String> known = new LinkedHashSet<>();
    private final Map<String, Fields> sections = new LinkedHashMap<>();
    private final Set<String> problems;
    private final AllowedRoots roots;

    private Fields(ConfigNode.Mapping mapping, String path, Set<String> problems, AllowedRoots roots) {
        this.mapping = mapping;
        this.path = path;
        this.problems = problems;
        this.roots = roots;
    }

    public static Fields of(ConfigNode.Mapping mapping) {
        return of(mapping, AllowedRoots.ANY);
    }

    /** @param roots where {@link #path} values have to lie */
    public static Fields of(ConfigNode.Mapping mapping, AllowedRoots roots) {
        return new Fields(mapping, "", new LinkedHashSet<>(), roots);
    }

    /** The mapping under a key; an empty one where there is none. */
    public Fields section(String key) {
        ConfigNode.Mapping inner = value(key, ConfigNode.Mapping.class, "a mapping").orElseGet(() -> ConfigNode.Mapping.empty(place(key)));
        return sections.computeIfAbsent(key, k -> new Fields(inner, dotted(k), problems, roots));
    }

    /** Each mapping of a list, or of one text standing for a mapping of that one key. */
    public List<Fields> sections(String key, String shortFor) {
        List<Fields> list = new ArrayList<>();
        for (ConfigNode item : items(key)) {
            switch (item) {
                case ConfigNode.Mapping m -> list.add(new Fields(m, dotted(key), problems, roots));
                case ConfigNode.Text t ->
                    list.add(new Fields(new ConfigNode.Mapping(t.place(), Map.of(shortFor, t)), dotted(key), problems, roots));
                default -> wrong(item.place(), key, item, "a mapping, or the " + shortFor + " alone");
            }
        }
        for (int i = 0; i < list.size(); i++) {
            sections.put(key + "#" + i, list.get(i));
        }
        return list;
    }

    /** True when the key is written with a value. */
    public boolean has(String key) {
        return node(key).isPresent();
    }

    /** The keys as written. */
    public List<String> keys() {
        return mapping.keys();
    }

    public Optional<ConfigNode> node(String key) {
        known.add(key);
        return Optional.ofNullable(mapping.entries().get(key)).filter(n -> !(n instanceof ConfigNode.Nothing));
    }

    public Optional<String> text(String key) {
        return value(key, ConfigNode.Text.class, "text").map(ConfigNode.Text::value);
    }

    public String text(String key, String fallback) {
        return text(key).orElse(fallback);
    }

    public OptionalInt integer(String key) {
        Optional<Long> value = whole(key, Integer.MIN_VALUE, Integer.MAX_VALUE);
        return value.isPresent() ? OptionalInt.of(value.get().intValue()) : OptionalInt.empty();
    }

    public int integer(String key, int fallback) {
        return integer(key).orElse(fallback);
    }

    public OptionalLong integer64(String key) {
        Optional<Long> value = whole(key, Long.MIN_VALUE, Long.MAX_VALUE);
        return value.isPresent() ? OptionalLong.of(value.get()) : OptionalLong.empty();
    }

    public OptionalDouble number(String key) {
        Optional<ConfigNode.Num> value = value(key, ConfigNode.Num.class, "a number");
        return value.isPresent() ? OptionalDouble.of(value.get().value().doubleValue()) : OptionalDouble.empty();
    }

    public double number(String key, double fallback) {
        return number(key).orElse(fallback);
    }

    /** What {@code true} and {@code false} stand for. */
    public <T> T flag(String key, T on, T off, T fallback) {
        return value(key, ConfigNode.Bool.class, "true or false").map(b -> b.value() ? on : off).orElse(fallback);
    }

    public Optional<Duration> duration(String key) {
        Optional<ConfigNode> node = node(key);
        Optional<Duration> duration = node.filter(ConfigNode.Text.class::isInstance)
                .flatMap(n -> DurationText.parse(((ConfigNode.Text) n).value()));
        if (node.isPresent() && duration.isEmpty()) {
            wrong(node.get().place(), key, node.get(), DurationText.ACCEPTED);
        }
        return duration;
    }

    public Duration duration(String key, Duration fallback) {
        return duration(key).orElse(fallback);
    }

    /** A path, relative ones from where they are written; inside the allowed roots. */
    public Optional<Path> path(String key) {
        return value(key, ConfigNode.Text.class, "a path").flatMap(text -> path(key, text));
    }

    /** One of an enum's names, in lower case with dashes. */
    public <E extends Enum<E>> E choice(String key, E fallback) {
        E[] all = fallback.getDeclaringClass().getEnumConstants();
        Optional<ConfigNode> node = node(key);
        Optional<E> chosen = node.filter(ConfigNode.Text.class::isInstance)
                .flatMap(n -> Arrays.stream(all).filter(e -> spelt(e).equals(((ConfigNode.Text) n).value())).findFirst());
        if (node.isPresent() && chosen.isEmpty()) {
            wrong(node.get().place(), key, node.get(), String.join(" or ", Arrays.stream(all).map(Fields::spelt).toList()));
        }
        return chosen.orElse(fallback);
    }

    /** A list of texts, or one text alone. */
    public List<String> texts(String key, List<String> fallback) {
        if (!has(key)) {
            return fallback;
        }
        return each(key, "text, or a list of texts", n -> n instanceof ConfigNode.Text t ? Optional.of(t.value()) : Optional.empty());
    }

    public List<Integer> integers(String key, List<Integer> fallback) {
        if (!has(key)) {
            return fallback;
        }
        return each(key, "an integer, or a list of integers", n -> n instanceof ConfigNode.Num num && num.value() instanceof Long l
                && l == l.intValue() ? Optional.of(l.intValue()) : Optional.empty());
    }

    /** Free-form values in plain Java types. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> map(String key) {
        return value(key, ConfigNode.Mapping.class, "a mapping").map(m -> (Map<String, Object>) m.plain()).orElse(Map.of());
    }

    /** Notes a problem of a key; {@code text} says what is wrong with it. */
    public void problem(String key, String text) {
        problems.add(place(key).name(dotted(key)) + ": " + text);
    }

    /** Builds a checked value; what its constructor refuses is noted at the place of the field, and nothing is returned. */
    public <T> Optional<T> build(Supplier<T> construction) {
        try {
            return Optional.of(construction.get());
        } catch (ConfigException e) {
            problems.add(placeOf(e.field()).name(e.getMessage()));
            return Optional.empty();
        }
    }

    /** @throws ConfigErrors with every problem noted in here and in the sections, and every unknown key */
    public void finish() {
        List<String> all = problems();
        if (!all.isEmpty()) {
            throw new ConfigErrors(all);
        }
    }

    /** Every problem noted so far, and every key that nothing has asked for. */
    public List<String> problems() {
        Map<String, String> elsewhere = new LinkedHashMap<>();
        collectKnown(elsewhere);
        List<String> all = new ArrayList<>(problems);
        noteUnknown(all, elsewhere);
        return all.stream().distinct().toList();
    }

    private void collectKnown(Map<String, String> byLastKey) {
        known.forEach(key -> byLastKey.putIfAbsent(key, dotted(key)));
        sections.values().forEach(s -> s.collectKnown(byLastKey));
    }

    private void noteUnknown(List<String> all, Map<String, String> elsewhere) {
        mapping.entries().forEach((key, node) -> {
            if (!known.contains(key)) {
                Optional<String> nearest = NearestKey.to(key, known);
                String meant = elsewhere.containsKey(key) ? ", did you mean '" + elsewhere.get(key) + "'?"
                        : nearest.map(n -> ", did you mean '" + dotted(n) + "'?")
                                .orElse(", known here are " + String.join(", ", known.stream().sorted().toList()));
                all.add(node.place().name(dotted(key)) + ": unknown key" + meant);
            }
        });
        sections.values().forEach(s -> s.noteUnknown(all, elsewhere));
    }

    private <N extends ConfigNode> Optional<N> value(String key, Class<N> type, String accepted) {
        Optional<ConfigNode> node = node(key);
        if (node.isPresent() && !type.isInstance(node.get())) {
            wrong(node.get().place(), key, node.get(), accepted);
        }
        return node.filter(type::isInstance).map(type::cast);
    }

    private Optional<Long> whole(String key, long least, long most) {
        Optional<ConfigNode> node = node(key);
        if (node.isEmpty()) {
            return Optional.empty();
        }
        if (node.get() instanceof ConfigNode.Num num && num.value() instanceof Long l && l >= least && l <= most) {
            return Optional.of(l);
        }
        boolean tooLarge = node.get() instanceof ConfigNode.Num num && (num.value() instanceof Long || num.value() instanceof BigInteger);
        wrong(node.get().place(), key, node.get(), tooLarge ? "an integer from " + least + " to " + most : "an integer");
        return Optional.empty();
    }

    private <T> List<T> each(String key, String accepted, Function<ConfigNode, Optional<T>> read) {
        List<T> values = new ArrayList<>();
        for (ConfigNode item : items(key)) {
            read.apply(item).ifPresentOrElse(values::add, () -> wrong(item.place(), key, item, accepted));
        }
        return values;
    }

    /** The items of a list, or the one value alone. */
    private List<ConfigNode> items(String key) {
        return node(key).map(n -> n instanceof ConfigNode.Items list ? list.values() : List.of(n)).orElse(List.of());
    }

    private Optional<Path> path(String key, ConfigNode.Text text) {
        Path written;
        try {
            written = text.value().startsWith("~/") ? Path.of(System.getProperty("user.home"), text.value().substring(2))
                    : Path.of(text.value());
        } catch (InvalidPathException e) {
            wrong(text.place(), key, text, "a path");
            return Optional.empty();
        }
        if (text.value().isBlank()) {
            wrong(text.place(), key, text, "a path");
            return Optional.empty();
        }
        Path whole = text.place().source().base().resolve(written).normalize();
        Optional<String> refusal = roots.refusal(whole);
        refusal.ifPresent(accepted -> wrong(text.place(), key, text, accepted));
        return refusal.isPresent() ? Optional.empty() : Optional.of(whole);
    }

    private void wrong(Place place, String key, ConfigNode seen, String accepted) {
        problems.add(place.name(dotted(key)) + ": got " + seen.shown() + ", must be " + accepted);
    }

    private String dotted(String key) {
        return path.isEmpty() ? key : key.isEmpty() ? path : path + "." + key;
    }

    private Place place(String key) {
        @Nullable ConfigNode node = mapping.entries().get(key);
        return node == null ? mapping.place() : node.place();
    }

    /** The place of a dotted key from the root, or of the part of it that is written. */
    private Place placeOf(String field) {
        String rest = !path.isEmpty() && field.startsWith(path + ".") ? field.substring(path.length() + 1) : field;
        Place place = mapping.place();
        ConfigNode.Mapping at = mapping;
        for (String key : rest.split("\\.")) {
            @Nullable ConfigNode next = at.entries().get(key);
            if (next == null) {
                return place;
            }
            place = next.place();
            if (!(next instanceof ConfigNode.Mapping inner)) {
                return place;
            }
            at = inner;
        }
        return place;
    }

    static String spelt(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
