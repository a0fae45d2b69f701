package io.furlong.server;

import io.furlong.control.RefusedException;
import java.util.List;

/** A request that is answered with an error: a status and one line for people. */
final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final transient List<String> problems;

    ApiException(int status, List<String> problems) {
        super(String.join("; ", problems));
        this.status = status;
        this.problems = List.copyOf(problems);
    }

    ApiException(int status, String detail) {
        this(status, List.of(detail));
    }

    static ApiException of(RefusedException refused) {
        return new ApiException(switch (refused.kind()) {
            case INVALID -> 400;
            case UNKNOWN -> 404;
            case CONFLICT, FULL -> 409;
            case QUOTA -> 403;
            case CHANGED -> 412;
        }, refused.problems());
    }

    int status() {
        return status;
    }

    List<String> problems() {
        return problems;
    }
}
