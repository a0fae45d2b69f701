package io.furlong.engine;

/** An adapter could not be loaded or unloaded; nothing has changed. The message is one line for people. */
public final class AdapterRefused extends Exception {
    public AdapterRefused(String message) {
        super(message);
    }
}
