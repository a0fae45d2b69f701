package io.furlong.torch;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;

/**
 * Frees every native object made on this thread between its construction and its close, except what is given away.
 *
 * <p>Scopes nest. What must outlive the scope is handed on explicitly: {@link #give} to the enclosing scope, or to a long-lived {@link Owner}.
 */
public final class Scope implements AutoCloseable {
    private final @Nullable PointerScope outer;
    private final PointerScope inner;

    public Scope() {
        Torch.ready();
        outer = PointerScope.getInnerScope();
        inner = new PointerScope();
    }

    /** Hands {@code p} to the enclosing scope and returns it. */
    public <P extends Pointer> P give(P p) {
        if (outer == null) {
            throw new IllegalStateException("no enclosing scope to give to; use an Owner for what lives longer");
        }
        outer.attach(p);
        return p;
    }

    @Override
    public void close() {
        inner.close();
    }
}
