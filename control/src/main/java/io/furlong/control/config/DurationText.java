package io.furlong.control.config;

import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them: {@code 500ms}, {@code 30s}, {@code 5m}, {@code 2h}, {@code 1d}. */
public final class DurationText {
    public static final String ACCEPTED = "a duration such as 500ms, 30s, 5m or 2h";
    private static final Pattern FORM = Pattern.compile("(\\d{1,9})(ms|s|m|h|d)");

    private DurationText() {}

    public static Optional<Duration> parse(String text) {
        Matcher m = FORM.matcher(text.strip());
        if (!m.matches()) {
            return Optional.empty();
        }
        long n = Long.parseLong(m.group(1));
        return Optional.of(switch (m.group(2)) {
            case "ms" -> Duration.ofMillis(n);
            case "s" -> Duration.ofSeconds(n);
            case "m" -> Duration.ofMinutes(n);
            case "h" -> Duration.ofHours(n);
            default -> Duration.ofDays(n);
        });
    }

    /** The shortest form that {@link #parse} reads back; whole milliseconds. */
    public static String of(Duration duration) {
        long ms = duration.toMillis();
        if (ms % 1000 != 0 || ms == 0) {
            return ms + "ms";
        }
        long s = ms / 1000;
        return s % 86_400 == 0 ? s / 86_400 + "d" : s % 3600 == 0 ? s / 3600 + "h" : s % 60 == 0 ? s / 60 + "m" : s + "s";
    }
}
