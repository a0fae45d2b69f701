package io.furlong.torch;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;

/** Keeps native objects alive past the scope they were made in, until it is closed; may be closed on any thread, once no thread uses them any more. */
public final class Owner implements AutoCloseable {
    private final List<Pointer> owned = new ArrayList<>();
    private boolean closed;

    /** Takes {@code p} into ownership and returns it. */
    public synchronized <P extends Pointer> P own(P p) {
        if (closed) {
            throw new IllegalStateException("owner is closed");
        }
        p.retainReference();
        owned.add(p);
        return p;
    }

    @Override
    public synchronized void close() {
        closed = true;
        owned.forEach(Pointer::releaseReference);
        owned.clear();
    }
}
