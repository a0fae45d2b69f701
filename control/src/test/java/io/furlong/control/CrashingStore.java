package io.furlong.control;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;

/** A store whose process dies at its n-th write: everything after that fails too. */
final class CrashingStore {
    /** Where the n-th write dies. */
    enum When { BEFORE, AFTER }

    /** The process is gone. */
    static final class Crash extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    private final Store real;
    private final When when;
    private final int at;
    private int writes;

    CrashingStore(Store real, When when, int at) {
        this.real = real;
        this.when = when;
        this.at = at;
    }

    private List<ControlEvent> write(Change change) {
        writes++;
        if (writes > at || when == When.BEFORE && writes == at) {
            throw new Crash();
        }
        List<ControlEvent> events = real.write(change);
        if (writes == at) {
            throw new Crash();
        }
        return events;
    }

    Store store() {
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, args) -> {
            if (method.getName().equals("write")) {
                return write((Change) args[0]);
            }
            try {
                return method.invoke(real, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }
}
