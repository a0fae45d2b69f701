package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.cli.FurlongCommand;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "show", mixinStandardHelpOptions = true, description = "Shows one adapter: where it stands, where its groups went, its last figures.",
        footer = {"", "Example:", "  furlong adapters show gsm8k"})
final class ShowCommand implements FurlongCommand {
    @Mixin
    private Connection connection = new Connection();

    @Parameters(paramLabel = "NAME", description = "The adapter.")
    private String name = "";

    @Option(names = "--json", description = "The service's own answer.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        try (ControlClient client = connection.open()) {
            JsonNode status = client.get("/adapter_runs/" + ControlClient.part(name));
            if (json) {
                out.println(status.toPrettyString());
                return OK;
            }
            JsonNode metrics = client.get("/adapter_runs/" + ControlClient.part(name) + "/metrics?after_step=" + Long.MAX_VALUE);
            out.println(new Status(status).line());
            if (status.has("failure")) {
                out.println("  remedy: " + status.path("failure").path("remedy").asText());
            }
            out.println("  data " + status.path("data").asText() + ", rank " + status.path("rank").asText() + ", alpha " + status.path("alpha").asText()
                    + ", lr " + status.path("lr").asText());
            out.println("  groups:" + pairs(metrics.path("groups")));
            out.println("  latest:" + pairs(metrics.path("latest")));
        }
        return OK;
    }

    private static String pairs(JsonNode numbers) {
        StringBuilder text = new StringBuilder();
        numbers.properties().stream().filter(e -> e.getValue().isNumber())
                .forEach(e -> text.append(' ').append(e.getKey()).append(' ').append(e.getValue().asText()));
        return text.isEmpty() ? " none yet" : text.toString();
    }
}
