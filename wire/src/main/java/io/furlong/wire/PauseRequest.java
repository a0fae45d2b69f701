package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Objects;

/** {@code POST /pause_generation}; new requests wait until {@code /continue_generation}. */
public record PauseRequest(Mode mode) {
    public PauseRequest {
        mode = Objects.requireNonNullElse(mode, Mode.ABORT);
    }

    public enum Mode {
        /** Running and waiting requests end as aborted. */
        @JsonProperty("abort") ABORT,
        /** Running requests go back to the queue and are computed anew. */
        @JsonProperty("retract") RETRACT,
        /** Running requests freeze where they are. */
        @JsonProperty("in_place") IN_PLACE
    }
}
