package io.furlong.cli.run;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closing that goes on whatever one part says. */
final class Closing {
    private static final Logger LOG = LoggerFactory.getLogger(Closing.class);

    private Closing() {}

    static void quietly(AutoCloseable part) {
        try {
            part.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            LOG.warn("{} did not close cleanly", part.getClass().getSimpleName(), e);
        }
    }
}
