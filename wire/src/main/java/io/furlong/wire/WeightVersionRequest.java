package io.furlong.wire;

import java.util.Optional;

/**
 * {@code POST /update_weight_version}: relabels the server, and <em>aborts everything</em> unless told not to.
 *
 * @param abortAllRequests absent means true
 */
public record WeightVersionRequest(String newVersion, Optional<Boolean> abortAllRequests) {
    public WeightVersionRequest {
        RequiredField.check("new_version", newVersion);
    }

    /** @param newVersion as set */
    public record Reply(boolean success, String message, String newVersion) {}
}
