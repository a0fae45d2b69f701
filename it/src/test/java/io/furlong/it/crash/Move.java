package io.furlong.it.crash;

import java.util.Optional;

/**
 * One thing that a run is about to do or has done.
 *
 * @param point   what
 * @param to      a file's name, a transaction's kind, or the engine
 * @param adapter that it is about; empty where it is about none
 * @param version of the adapter; 0 where it is about none
 * @param step    of the version, where that is known
 * @param digest  of the version's weights, where that is known
 */
record Move(Point point, String to, String adapter, long version, long step, String digest) {
    private static final String MARK = "MOVE|";
    private static final String END = ".";

    /** Each before or after it happens. */
    enum Point {
        WRITING, WRITTEN, SYNCING, SYNCED, RENAMING, RENAMED, COMMITTING, COMMITTED, LOADING, LOADED, PROBING, PROBED, FLIPPING, FLIPPED
    }

    static Move about(Point point, String to, String adapter) {
        return new Move(point, to, adapter, 0, 0, "");
    }

    /** What it is, whichever adapter and version it is about. */
    String kind() {
        return point + " " + to;
    }

    boolean is(Point other, String what) {
        return point == other && to.equals(what);
    }

    String line() {
        return MARK + String.join("|", point.name(), to, adapter, Long.toString(version), Long.toString(step), digest, END);
    }

    /** Empty if the line is none, or was cut off. */
    static Optional<Move> parse(String line) {
        if (!line.startsWith(MARK)) {
            return Optional.empty();
        }
        String[] p = line.substring(MARK.length()).split("\\|", -1);
        return p.length != 7 || !p[6].equals(END) ? Optional.empty()
                : Optional.of(new Move(Point.valueOf(p[0]), p[1], p[2], Long.parseLong(p[3]), Long.parseLong(p[4]), p[5]));
    }
}
