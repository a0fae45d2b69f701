package io.furlong.sglang;

import java.net.URI;
import java.nio.charset.StandardCharsets;

/** A whole reply, whatever its status. */
record HttpReply(URI uri, Connection.Head head, byte[] body) {
    int status() {
        return head.status();
    }

    String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    /** @throws EngineException of the kind that the reply calls for, unless its status is 2xx */
    HttpReply accepted() throws EngineException {
        if (status() / 100 != 2) {
            throw fault();
        }
        return this;
    }

    EngineException fault() {
        return EngineException.of(uri.toString(), status(), text(), head.field("X-SMG-Error-Code").isPresent());
    }
}
