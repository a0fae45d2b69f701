package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.cli.FurlongCommand;
import io.furlong.cli.Mistake;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(name = "set", mixinStandardHelpOptions = true, description = "Changes a running adapter; takes effect at its next step.",
        footer = {"", "Settings: lr, num_step, weight, max_staleness.", "", "Example:", "  furlong adapters set gsm8k lr=5e-4 num_step=200"})
final class SetCommand implements FurlongCommand {
    @Mixin
    private Change change = new Change();

    @Parameters(index = "1..*", arity = "1..*", paramLabel = "KEY=VALUE", description = "What to change.")
    private Map<String, String> settings = new LinkedHashMap<>();

    @Override
    public Integer call() throws Exception {
        ObjectNode body = ControlClient.object();
        settings.forEach((key, text) -> {
            if (text.matches("-?\\d{1,18}")) {
                body.put(key, Long.parseLong(text));
            } else {
                try {
                    body.put(key, Double.parseDouble(text));
                } catch (NumberFormatException e) {
                    throw new Mistake(key + ": got '" + text + "', must be a number");
                }
            }
        });
        change.patch(body);
        return OK;
    }
}
