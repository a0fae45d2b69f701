package io.furlong.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import org.slf4j.LoggerFactory;

/** What goes to standard error beside what a command itself says. Commands show warnings; services show an event a line. */
public final class Logs {
    /** How a service writes its events. */
    public enum Form { TEXT, JSON }

    private Logs() {}

    /** Helidon speaks java.util.logging; only its warnings are of use to people. */
    static void quietLibraries() {
        java.util.logging.Logger.getLogger("").setLevel(java.util.logging.Level.WARNING);
    }

    /** Shows Furlong's own events, a line each. */
    public static void showEvents(Form form) {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        context.getLogger("io.furlong").setLevel(Level.INFO);
        if (form == Form.JSON) {
            JsonEncoder encoder = new JsonEncoder();
            encoder.setContext(context);
            encoder.start();
            ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
            console.setContext(context);
            console.setTarget("System.err");
            console.setEncoder(encoder);
            console.start();
            Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
            root.detachAndStopAllAppenders();
            root.addAppender(console);
        }
    }
}
