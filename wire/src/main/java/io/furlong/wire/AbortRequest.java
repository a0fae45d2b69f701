package io.furlong.wire;

/**
 * {@code POST /abort_request}; answered 200 with an empty body whatever it matched.
 *
 * @param rid      every live request whose id starts with it is aborted, provided that a live request has exactly this id
 * @param abortAll every request
 * @param prefix   no exact match is needed (servers that announce it only; ignored by SGLang's releases)
 */
public record AbortRequest(String rid, boolean abortAll, boolean prefix) {
    public AbortRequest {
        rid = java.util.Objects.requireNonNullElse(rid, "");
    }

    public static AbortRequest exact(String rid) {
        return new AbortRequest(rid, false, false);
    }

    public static AbortRequest all() {
        return new AbortRequest("", true, false);
    }

    public static AbortRequest startingWith(String rid) {
        return new AbortRequest(rid, false, true);
    }
}
