package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.cli.FurlongCommand;
import java.util.OptionalLong;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "fork", mixinStandardHelpOptions = true, description = "Registers a new adapter that starts from another's weights.",
        footer = {"", "Example:", "  furlong adapters fork gsm8k gsm8k-b --step 120"})
final class ForkCommand implements FurlongCommand {
    @Mixin
    private Connection connection = new Connection();

    @Parameters(index = "0", paramLabel = "FROM", description = "The adapter to start from.")
    private String from = "";

    @Parameters(index = "1", paramLabel = "NAME", description = "The new adapter's name.")
    private String name = "";

    @Option(names = "--step", paramLabel = "N", description = "Its state after this optimizer step (default: the last).")
    private OptionalLong step = OptionalLong.empty();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        ObjectNode body = ControlClient.object().put("name", name);
        step.ifPresent(n -> body.put("step", n));
        try (ControlClient client = connection.open()) {
            JsonNode answer = client.send("POST", "/adapter_runs/" + ControlClient.part(from) + "/fork", body);
            spec.commandLine().getOut().println(name + ": registered as " + answer.path("registration_id").asText() + ", starting from " + from);
        }
        return OK;
    }
}
