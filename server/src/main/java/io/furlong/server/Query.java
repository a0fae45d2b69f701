package io.furlong.server;

import io.furlong.control.config.NearestKey;
import io.helidon.common.uri.UriQuery;
import io.helidon.webserver.http.ServerRequest;
import java.util.List;
import java.util.Optional;

/** The parameters after the question mark, read as strictly as a body: an unknown one is an error that names the nearest. */
final class Query {
    private final UriQuery query;

    Query(ServerRequest request, String... known) {
        this.query = request.query();
        for (String name : query.names()) {
            if (!List.of(known).contains(name)) {
                String nearest = NearestKey.to(name, List.of(known)).map(n -> "; did you mean '" + n + "'?").orElse("");
                throw new ApiException(400, "query parameter '" + name + "' is not known" + nearest);
            }
        }
    }

    Optional<String> text(String name) {
        return query.contains(name) ? Optional.of(query.get(name)) : Optional.empty();
    }

    List<String> all(String name) {
        return query.contains(name) ? query.all(name) : List.of();
    }

    String choice(String name, String fallback, String... accepted) {
        String value = text(name).orElse(fallback);
        if (!List.of(accepted).contains(value)) {
            throw new ApiException(400, name + ": got '" + value + "', must be one of " + String.join(", ", accepted));
        }
        return value;
    }

    long number(String name, long fallback, long least, long most) {
        Optional<String> value = text(name);
        if (value.isEmpty()) {
            return fallback;
        }
        try {
            long n = Long.parseLong(value.get());
            if (n >= least && n <= most) {
                return n;
            }
        } catch (NumberFormatException e) {
            // The message below says what would be right.
        }
        throw new ApiException(400, name + ": got '" + value.get() + "', must be an integer ≥ " + least);
    }
}
