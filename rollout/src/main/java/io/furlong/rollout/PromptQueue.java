package io.furlong.rollout;

import io.furlong.core.Cursor;
import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The prompts that wait for their turn: first those given back, in the order of their tickets, then fresh rows of the dataset.
 * A row gets its ticket, its place in the line, when it is first handed out, and keeps it however often it is tried again, so
 * that a repeated row is trained where it would have been trained at first.
 *
 * <p>Rows are read ahead in blocks, by one reader at a time and never under the lock: {@link #wantsRows} says when, {@link #read}
 * reads, {@link #add} puts in. The cursor counts rows handed out, not rows read. Everything but {@link #read} is guarded by the
 * lock of {@link Streams}.
 */
final class PromptQueue {
    /** A prompt with its place in the line. */
    record Ticket(long number, Prompt prompt) {}

    private static final int BLOCK = 64;

    private final TreeMap<Long, Prompt> givenBack = new TreeMap<>();
    private final ArrayDeque<Prompt> fresh = new ArrayDeque<>();
    private final List<Cursor.OpenRow> reopening;
    private long nextTicket;
    private int epoch;
    private long position;
    private int readEpoch;
    private long readPosition;
    private boolean reading;
    private String fingerprint;
    private long rowsPerEpoch;

    PromptQueue(Cursor start) {
        epoch = start.epoch();
        position = start.position();
        readEpoch = epoch;
        readPosition = position;
        reopening = new ArrayList<>(start.open());
        fingerprint = start.fingerprint();
    }

    /** A block of rows and where to go on, as read by {@link #read}. */
    record Block(List<Prompt> reopened, List<Prompt> fresh, int epoch, long position, String fingerprint, long rows) {}

    boolean isEmpty() {
        return givenBack.isEmpty() && fresh.isEmpty();
    }

    /** True when a reader should start; it is taken to have started. */
    boolean wantsRows() {
        if (reading || fresh.size() > BLOCK / 2) {
            return false;
        }
        reading = true;
        return true;
    }

    /** Reads the next block; called without the lock, by the one reader that {@link #wantsRows} asked for. */
    Block read(PromptSource source) {
        if (!fingerprint.isEmpty() && !fingerprint.equals(source.fingerprint())) {
            throw new IllegalStateException("the dataset has changed since this run read it (SHA-256 was " + fingerprint
                    + ", is " + source.fingerprint() + "); put the old file back, or register without resuming");
        }
        long rows = source.rows();
        if (rows == 0) {
            throw new IllegalStateException("the dataset has no row that can be used"
                    + (source.tooLong() > 0 ? ": all " + source.tooLong() + " prompts are too long" : ""));
        }
        List<Prompt> reopened = new ArrayList<>();
        for (Cursor.OpenRow r : reopening) {
            Prompt p = source.row(r.epoch(), r.row());
            reopened.add(new Prompt(p.row(), p.epoch(), p.text(), p.tokenIds(), p.label(), p.metadata(), r.retries(), r.stale()));
        }
        List<Prompt> block = new ArrayList<>(BLOCK);
        int e = readEpoch;
        long at = readPosition;
        while (block.size() < BLOCK) {
            Optional<Prompt> p = source.at(e, at);
            if (p.isEmpty()) {
                e++;
                at = 0;
            } else {
                block.add(p.get());
                at++;
            }
        }
        return new Block(reopened, block, e, at, source.fingerprint(), rows);
    }

    void add(Block block) {
        for (Prompt p : block.reopened()) {
            givenBack.put(nextTicket++, p);
        }
        reopening.clear();
        fresh.addAll(block.fresh());
        readEpoch = block.epoch();
        readPosition = block.position();
        fingerprint = block.fingerprint();
        rowsPerEpoch = block.rows();
        reading = false;
    }

    /** The head: given back first. */
    Ticket take() {
        Map.Entry<Long, Prompt> again = givenBack.pollFirstEntry();
        if (again != null) {
            return new Ticket(again.getKey(), again.getValue());
        }
        Prompt p = fresh.removeFirst();
        if (p.epoch() != epoch) {
            epoch = p.epoch();
            position = 0;
        }
        position++;
        return new Ticket(nextTicket++, p);
    }

    void giveBack(long ticket, Prompt prompt) {
        givenBack.put(ticket, prompt);
    }

    /** The lowest ticket that waits to be handed out again. */
    OptionalLong firstGivenBack() {
        return givenBack.isEmpty() ? OptionalLong.empty() : OptionalLong.of(givenBack.firstKey());
    }

    long rowsPerEpoch() {
        return rowsPerEpoch;
    }

    /** The cursor, if the rows in {@code open} are out besides those that wait here. */
    Cursor cursor(Map<Long, Prompt> open, long finished) {
        TreeMap<Long, Prompt> all = new TreeMap<>(open);
        all.putAll(givenBack);
        List<Cursor.OpenRow> rows = new ArrayList<>(reopening);
        all.values().forEach(p -> rows.add(new Cursor.OpenRow(p.epoch(), p.row(), p.retries(), p.stale())));
        return new Cursor(fingerprint, epoch, position, rows, finished);
    }

    /** Nothing of it is needed any more. */
    void clear() {
        givenBack.clear();
        fresh.clear();
    }
}
