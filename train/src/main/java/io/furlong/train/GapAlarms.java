package io.furlong.train;

import io.furlong.train.AdapterReport.Gap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.stream.Collectors;

/**
 * One {@link GapAlarm} an engine, since of several engines one alone may compute wrongly, and is not asked in every batch. Engines not heard
 * of for long are forgotten first.
 */
final class GapAlarms {
    private static final int ENGINES = 256;

    private final Map<String, GapAlarm> byEngine = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, GapAlarm> eldest) {
            return size() > ENGINES;
        }
    };

    /** Takes the gaps of one batch by engine; one line when an alarm sounds. */
    Optional<String> after(SortedMap<String, Gap> gaps) {
        String all = gaps.entrySet().stream()
                .flatMap(e -> byEngine.computeIfAbsent(e.getKey(), _ -> new GapAlarm()).after(e.getValue().max()).map(line -> e.getKey() + ": " + line).stream())
                .collect(Collectors.joining("; "));
        return all.isEmpty() ? Optional.empty() : Optional.of(all);
    }
}
