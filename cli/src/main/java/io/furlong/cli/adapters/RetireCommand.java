package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.cli.FurlongCommand;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "retire", mixinStandardHelpOptions = true, description = "Ends an adapter: the step under way is finished, its weights are exported.",
        footer = {"", "Example:", "  furlong adapters retire gsm8k"})
final class RetireCommand implements FurlongCommand {
    @Mixin
    private Connection connection = new Connection();

    @Parameters(paramLabel = "NAME", description = "The adapter.")
    private String name = "";

    @Option(names = "--now", description = "Abort its requests; only what is committed is exported.")
    private boolean now;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        try (ControlClient client = connection.open()) {
            JsonNode answer = client.delete("/adapter_runs/" + ControlClient.part(name) + "?mode=" + (now ? "now" : "drain"));
            spec.commandLine().getOut().println(name + ": " + answer.path("phase").asText().toLowerCase(Locale.ROOT));
        }
        return OK;
    }
}
