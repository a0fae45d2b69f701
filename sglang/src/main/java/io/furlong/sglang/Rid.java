package io.furlong.sglang;

import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Request ids: {@code {adapter}::{32 hex}}. SGLang aborts by prefix of the id, so all of one adapter have the same length and none is a
 * prefix of another. Drawn afresh for every attempt: an id that is still known to some engine is refused as a duplicate.
 */
final class Rid {
    private Rid() {}

    static String fresh(String adapter) {
        byte[] bytes = new byte[16];
        ThreadLocalRandom.current().nextBytes(bytes);
        return prefix(adapter) + HexFormat.of().formatHex(bytes);
    }

    /** What all ids of one adapter begin with. */
    static String prefix(String adapter) {
        return adapter + "::";
    }
}
