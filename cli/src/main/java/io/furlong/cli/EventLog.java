package io.furlong.cli;

import io.furlong.control.ControlEvent;
import io.furlong.control.EventFeed;
import java.time.Duration;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** Writes what happens to adapters as log lines, one an event, from now on. */
final class EventLog implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventLog.class);
    private static final int PAGE = 500;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final EventFeed events;
    private final Thread follower;
    private volatile boolean ending;

    private EventLog(EventFeed events) {
        this.events = events;
        follower = Thread.ofVirtual().name("event-log").unstarted(this::run);
    }

    static EventLog follow(EventFeed events) {
        EventLog log = new EventLog(events);
        log.follower.start();
        return log;
    }

    private void run() {
        long at = events.last();
        try {
            while (!ending) {
                EventFeed.Page page = events.after(at, Optional.empty(), Optional.empty(), PAGE, PATIENCE);
                page.events().forEach(EventLog::write);
                at = page.upTo();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void write(ControlEvent e) {
        StringBuilder text = new StringBuilder("adapter '").append(e.adapter()).append("' ").append(e.kind());
        LoggingEventBuilder line = LOG.atInfo().addKeyValue("adapter", e.adapter()).addKeyValue("registration", e.registration())
                .addKeyValue("tenant", e.tenant()).addKeyValue("kind", e.kind()).addKeyValue("event", e.id());
        for (var detail : new TreeMap<>(e.detail()).entrySet()) {
            text.append(' ').append(detail.getKey()).append('=').append(detail.getValue());
            line = line.addKeyValue(detail.getKey(), detail.getValue());
        }
        line.log(text.toString());
    }

    @Override
    public void close() {
        ending = true;
        follower.interrupt();
    }
}
