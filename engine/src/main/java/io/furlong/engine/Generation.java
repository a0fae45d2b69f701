package io.furlong.engine;

import io.furlong.wire.ErrorReply;
import io.furlong.wire.RejectedRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A request on its way, as its caller sees it. The engine's thread puts in, one caller takes out; a request that streams gives an event a
 * token, others one at the end. The last event has a finish reason, or is the rejection.
 */
public final class Generation {
    private sealed interface Event {
        record Progress(Generated generated) implements Event {}

        record Rejected(ErrorReply reply) implements Event {}
    }

    /** Events that may wait for a slow caller; each has all there is so far, so that beyond this the oldest can go. */
    private static final int MOST_EVENTS = 64;

    private final String id;
    private final LinkedBlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final Consumer<Generation> abort;
    private volatile boolean ended;

    /** @param abort ends the request that this is of */
    Generation(String id, Consumer<Generation> abort) {
        this.id = id;
        this.abort = abort;
    }

    public String id() {
        return id;
    }

    /**
     * Waits for the next event.
     *
     * @return absent if none came in time
     * @throws RejectedRequest if the engine gave the request back
     */
    public Optional<Generated> next(Duration timeout) throws InterruptedException, RejectedRequest {
        return switch (events.poll(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            case null -> Optional.empty();
            case Event.Progress(Generated generated) -> Optional.of(generated);
            case Event.Rejected(ErrorReply reply) -> throw new RejectedRequest(reply);
        };
    }

    /** Waits for the next event, however long it takes. */
    public Generated take() throws InterruptedException, RejectedRequest {
        return switch (events.take()) {
            case Event.Progress(Generated generated) -> generated;
            case Event.Rejected(ErrorReply reply) -> throw new RejectedRequest(reply);
        };
    }

    /** Waits for the end. */
    public Generated await() throws InterruptedException, RejectedRequest {
        while (true) {
            Generated generated = take();
            if (generated.finish().isPresent()) {
                return generated;
            }
        }
    }

    /** Whether nothing more will come. */
    public boolean ended() {
        return ended;
    }

    /** Ends it; the caller still gets what was generated, with finish reason abort. */
    public void abort() {
        abort.accept(this);
    }

    /** Ends it if it has not ended by itself: its caller has gone. */
    void abandon() {
        if (!ended) {
            abort.accept(this);
        }
    }

    void put(Generated generated) {
        ended = generated.finish().isPresent();
        if (events.size() >= MOST_EVENTS) {
            events.poll();
        }
        events.add(new Event.Progress(generated));
    }

    void reject(ErrorReply reply) {
        ended = true;
        events.add(new Event.Rejected(reply));
    }
}
