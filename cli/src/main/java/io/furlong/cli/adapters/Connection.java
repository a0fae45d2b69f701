package io.furlong.cli.adapters;

import io.furlong.cli.Mistake;
import java.net.URI;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Which service a command talks to. */
final class Connection {
    @Option(names = "--url", paramLabel = "URL", defaultValue = "${env:FURLONG_URL:-http://127.0.0.1:8068}",
            description = "The control API (default: ${DEFAULT-VALUE}; environment: FURLONG_URL).")
    private String url = "";

    @Option(names = "--token", paramLabel = "TOKEN", defaultValue = "${env:FURLONG_TOKEN}", hidden = false,
            description = "Its token, where it wants one (environment: FURLONG_TOKEN).")
    private Optional<String> token = Optional.empty();

    ControlClient open() {
        if (!url.matches("https?://[^/\\s]+.*")) {
            throw new Mistake("--url: got '" + url + "', must be an http:// or https:// URL");
        }
        return new ControlClient(URI.create(url), token.filter(t -> !t.isBlank()));
    }
}
