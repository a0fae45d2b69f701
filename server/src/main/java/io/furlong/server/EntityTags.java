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
        String tag = '"' + process + "." + registry.snapshot().epoch() + '"';
        response.header(HeaderNames.ETAG, tag);
        boolean same = request.headers().first(HeaderNames.IF_NONE_MATCH).filter(tag::equals).isPresent();
        if (same) {
            response.status(Status.NOT_MODIFIED_304).send();
        }
        return same;
    }
}
