package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.cli.FurlongCommand;
import java.io.PrintWriter;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(name = "list", mixinStandardHelpOptions = true, description = "Shows the adapters, a line each.",
        footer = {"", "Example:", "  furlong adapters list --live"})
final class ListCommand implements FurlongCommand {
    @Mixin
    private Connection connection = new Connection();

    @Option(names = "--live", description = "Leave out those that have ended.")
    private boolean live;

    @Option(names = "--json", description = "The service's own answer.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        try (ControlClient client = connection.open()) {
            JsonNode answer = client.get("/adapter_runs" + (live ? "?ended=exclude" : ""));
            if (json) {
                out.println(answer.toPrettyString());
                return OK;
            }
            TextTable table = new TextTable("name", "phase", "step", "version", "slot", "tenant", "reason");
            for (JsonNode one : answer.path("adapters")) {
                Status s = new Status(one);
                table.row(s.name(), s.phase().name().toLowerCase(Locale.ROOT), s.progress(), s.version(),
                        one.path("slot").asInt() < 0 ? "–" : one.path("slot").asText(), one.path("tenant").asText(), one.path("reason").asText());
            }
            table.lines().forEach(out::println);
        }
        return OK;
    }
}
