package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.cli.FurlongCommand;
import java.io.PrintWriter;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "events", mixinStandardHelpOptions = true, description = "Shows what happens as it happens, a line an event; Ctrl-C ends it.",
        footer = {"", "Example:", "  furlong adapters events gsm8k --after 0"})
final class EventsCommand implements FurlongCommand {
    @Mixin
    private Connection connection = new Connection();

    @Parameters(arity = "0..1", paramLabel = "NAME", description = "One adapter only.")
    private Optional<String> name = Optional.empty();

    @Option(names = "--after", paramLabel = "ID", description = "Start after this event; 0 shows all that is kept (default: from now on).")
    private Optional<Long> after = Optional.empty();

    @Option(names = "--json", description = "Each event as JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        try (ControlClient client = connection.open()) {
            client.events(name.map(n -> "/adapter_runs/" + ControlClient.part(n)).orElse("") + "/events", after, event -> {
                out.println(json ? event.toString() : line(event));
                out.flush();
            });
        }
        return OK;
    }

    private static String line(JsonNode e) {
        StringBuilder line = new StringBuilder(e.path("at").asText()).append("  ").append(e.path("id").asText()).append("  ")
                .append(e.path("adapter").asText()).append("  ").append(e.path("kind").asText());
        e.path("detail").properties().forEach(d -> line.append("  ").append(d.getKey()).append('=').append(d.getValue().asText()));
        return line.toString();
    }
}
