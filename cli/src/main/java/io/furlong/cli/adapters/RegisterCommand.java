package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.cli.FurlongCommand;
import io.furlong.cli.Mistake;
import io.furlong.control.config.YamlFile;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "register", mixinStandardHelpOptions = true, description = "Registers an adapter with the settings of an adapter.yaml.",
        footer = {"", "Relative paths in the file start from where it lies; the service must see them under the same path.", "",
            "Example:", "  furlong adapters register gsm8k adapters/gsm8k.yaml"})
final class RegisterCommand implements FurlongCommand {
    private static final List<String> PATHS = List.of("/data", "/save", "/eval/data", "/init_from/peft");

    @Mixin
    private Connection connection = new Connection();

    @Parameters(index = "0", paramLabel = "NAME", description = "The adapter's name.")
    private String name = "";

    @Parameters(index = "1", paramLabel = "FILE", description = "Its adapter.yaml.")
    private Path file = Path.of("");

    @Option(names = "--queue", description = "Wait in line when all slots are taken.")
    private boolean queue;

    @Option(names = "--validate-only", description = "Check everything, register nothing.")
    private boolean validateOnly;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        ObjectNode body = ControlClient.object().put("name", name).put("when_full", queue ? "queue" : "refuse");
        body.set("config", absolute(ControlClient.tree(YamlFile.read(file).plain())));
        try (ControlClient client = connection.open()) {
            JsonNode answer = client.send("POST", "/adapter_runs" + (validateOnly ? "?validate_only=true" : ""), body);
            spec.commandLine().getOut().println(validateOnly ? name + ": valid"
                    : name + ": registered as " + answer.path("registration_id").asText() + ", "
                    + (answer.path("slot").asInt() < 0 ? "waiting for a slot" : "slot " + answer.path("slot").asText()));
        }
        return OK;
    }

    /** Paths as the service has to see them. */
    private JsonNode absolute(JsonNode config) {
        Path base = file.toAbsolutePath().normalize().getParent();
        for (String pointer : PATHS) {
            JsonNode value = config.at(pointer);
            if (value.isTextual() && !value.textValue().startsWith("~/")) {
                String key = pointer.substring(pointer.lastIndexOf('/') + 1);
                try {
                    ((ObjectNode) config.at(pointer.substring(0, pointer.lastIndexOf('/')))).put(key, base.resolve(value.textValue()).normalize().toString());
                } catch (java.nio.file.InvalidPathException e) {
                    throw new Mistake(file + ": " + pointer.substring(1).replace('/', '.') + ": got '" + value.textValue() + "', must be a path");
                }
            }
        }
        return config;
    }
}
