package io.furlong.rollout;

import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Which versions must stay loaded: those in force, and those that an open group or an evaluation pins. A version that is
 * neither is given to {@code release}, once. Guarded by the lock of {@link Streams}.
 */
final class Pins {
    private final Map<PolicyStamp, Integer> pinned = new HashMap<>();
    private final Map<RegistrationId, PolicyStamp> inForce = new HashMap<>();
    private final Consumer<PolicyStamp> release;

    Pins(Consumer<PolicyStamp> release) {
        this.release = release;
    }

    void pin(PolicyStamp stamp) {
        pinned.merge(stamp, 1, Integer::sum);
    }

    void unpin(PolicyStamp stamp) {
        Integer left = pinned.compute(stamp, (s, n) -> {
            if (n == null) {
                throw new IllegalStateException("version " + s.version() + " of " + s.registration() + " is not pinned");
            }
            return n == 1 ? null : Integer.valueOf(n - 1);
        });
        if (left == null && !stamp.equals(inForce.get(stamp.registration()))) {
            release.accept(stamp);
        }
    }

    /** This version is in force from now on; the one before is no longer. */
    void inForce(PolicyStamp stamp) {
        replaced(inForce.put(stamp.registration(), stamp), Optional.of(stamp));
    }

    /** Nothing of this registration is in force any more. */
    void ended(RegistrationId registration) {
        replaced(inForce.remove(registration), Optional.empty());
    }

    private void replaced(@org.jspecify.annotations.Nullable PolicyStamp old, Optional<PolicyStamp> by) {
        if (old != null && !Optional.of(old).equals(by) && !pinned.containsKey(old)) {
            release.accept(old);
        }
    }

    /** True while the engines hold this version on our account. */
    boolean held(PolicyStamp stamp) {
        return pinned.containsKey(stamp) || stamp.equals(inForce.get(stamp.registration()));
    }
}
