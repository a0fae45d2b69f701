package io.furlong.control;

import java.time.Duration;
import java.util.function.IntSupplier;

/**
 * How much may live at once.
 *
 * @param maxAdapters   slots
 * @param adapterPlaces adapters that fit on the engines at once; asked at each registration, since engines come and go
 * @param sparePlaces   places that evaluations and a running publish need beyond those of the adapters
 * @param publishing    how many places an adapter needs
 * @param drain         how long a retiring adapter may drain before it is ended at once
 */
public record Limits(int maxAdapters, IntSupplier adapterPlaces, int sparePlaces, Publishing publishing, Duration drain) {
    /** How versions come to the engines, as far as it takes room there. */
    public enum Publishing {
        /** Each version is an adapter of its own: {@code max_staleness + 1} places. */
        VERSIONED,
        /** A slot's weights are replaced in place: one place. */
        SLOT
    }

    public Limits {
        if (maxAdapters < 1) {
            throw new IllegalArgumentException("max_adapters: got " + maxAdapters + ", must be ≥ 1");
        }
        if (sparePlaces < 0) {
            throw new IllegalArgumentException("spare places: got " + sparePlaces + ", must be ≥ 0");
        }
    }

    public static Limits of(int maxAdapters, IntSupplier adapterPlaces) {
        return of(maxAdapters, adapterPlaces, Publishing.VERSIONED);
    }

    public static Limits of(int maxAdapters, IntSupplier adapterPlaces, Publishing publishing) {
        return new Limits(maxAdapters, adapterPlaces, 2, publishing, Duration.ofSeconds(60));
    }

    int placesOf(io.furlong.core.AdapterConfig config) {
        return publishing == Publishing.VERSIONED ? config.adapterPlaces() : 1;
    }
}
