package io.furlong.sglang;

import java.util.regex.Pattern;

/** Served names that Furlong gives, as against adapters that somebody else loaded on the same server. */
final class Names {
    private static final Pattern OURS = Pattern.compile(".+\\.[0-9a-f]{12}@v\\d+-[0-9a-f]{12}|furlong_slot_\\d+");

    private Names() {}

    /** A name whose weights are replaced in place. */
    static boolean slot(String servedName) {
        return servedName.startsWith("furlong_slot_");
    }

    /** A name that Furlong gave, in this run or an earlier one. */
    static boolean ours(String servedName) {
        return OURS.matcher(servedName).matches();
    }
}
