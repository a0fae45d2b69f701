package io.furlong.core;

import java.util.function.Consumer;

/** The registry as other rooms see it: the newest snapshot, and a call on every change. */
public interface RegistryView {
    /** The newest snapshot; takes no lock. */
    RegistrySnapshot snapshot();

    /**
     * Calls {@code listener} with every new snapshot, in order, on the writer's thread; it must not block.
     *
     * @return closing it ends the calls
     */
    Subscription onChange(Consumer<RegistrySnapshot> listener);

    /** An open subscription. */
    interface Subscription extends AutoCloseable {
        @Override
        void close();
    }
}
