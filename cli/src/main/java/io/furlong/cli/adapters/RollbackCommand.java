package io.furlong.cli.adapters;

import io.furlong.cli.FurlongCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(name = "rollback", mixinStandardHelpOptions = true, description = "Goes back to an earlier committed step.",
        footer = {"", "Example:", "  furlong adapters rollback gsm8k --step 120"})
final class RollbackCommand implements FurlongCommand {
    @Mixin
    private Change change = new Change();

    @Option(names = "--step", required = true, paramLabel = "N", description = "The optimizer step to go back to.")
    private long step;

    @Override
    public Integer call() throws Exception {
        change.send("POST", "/rollback", ControlClient.object().put("step", step));
        return OK;
    }
}
