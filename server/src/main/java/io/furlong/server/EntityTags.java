package io.furlong.server;

import io.furlong.core.RegistryView;
import io.helidon.http.HeaderNames;
import io.helidon.http.Status;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.util.UUID;

/** {@code ETag} of everything that follows from the registry: its epoch, and which process counts it. */
final class EntityTags {
    private final String process = UUID.randomUUID().toString().substring(0, 8);
    private final RegistryView registry;

    EntityTags(RegistryView registry) {
        this.registry = registry;
    }

    /** Sets the tag; answers 304 and returns true when the client has this state already. Call it before reading the registry. */
    boolean unchanged(ServerRequest request, ServerResponse response) {
        String tag = tag();
        response.header(HeaderNames.ETAG, tag);
        boolean same = request.headers().first(HeaderNames.IF_NONE_MATCH).filter(tag::equals).isPresent();
        if (same) {
            response.status(Status.NOT_MODIFIED_304).send();
        }
        return same;
    }

    /** False when the client makes its request depend, by {@code If-Match}, on a state that is no longer so. */
    boolean matches(ServerRequest request) {
        return request.headers().first(HeaderNames.IF_MATCH).map(wanted -> wanted.equals("*") || wanted.equals(tag())).orElse(true);
    }

    private String tag() {
        return '"' + process + "." + registry.snapshot().epoch() + '"';
    }
}
