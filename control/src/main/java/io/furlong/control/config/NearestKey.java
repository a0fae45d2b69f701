package io.furlong.control.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Which known key a misspelt one most likely meant: the smallest number of letters added, dropped, changed or swapped. */
public final class NearestKey {
    private NearestKey() {}

    public static Optional<String> to(String written, Collection<String> known) {
        int most = Math.max(2, written.length() / 3);
        return known.stream()
                .filter(key -> distance(written, key) <= most && distance(written, key) < Math.max(written.length(), key.length()))
                .min(Comparator.comparingInt((String key) -> distance(written, key)).thenComparing(Comparator.naturalOrder()));
    }

    /** Optimal string alignment distance, letter case ignored. */
    static int distance(String first, String second) {
        String a = first.toLowerCase(java.util.Locale.ROOT).replace('-', '_');
        String b = second.toLowerCase(java.util.Locale.ROOT).replace('-', '_');
        int[][] d = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            d[i][0] = i;
        }
        for (int j = 0; j <= b.length(); j++) {
            d[0][j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            for (int j = 1; j <= b.length(); j++) {
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                d[i][j] = Math.min(d[i - 1][j - 1] + change, Math.min(d[i - 1][j], d[i][j - 1]) + 1);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
                }
            }
        }
        return d[a.length()][b.length()];
    }
}
