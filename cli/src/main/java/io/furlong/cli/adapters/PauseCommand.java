package io.furlong.cli.adapters;

import io.furlong.cli.FurlongCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(name = "pause", mixinStandardHelpOptions = true, description = "Admits no new groups; running ones finish.",
        footer = {"", "Example:", "  furlong adapters pause gsm8k"})
final class PauseCommand implements FurlongCommand {
    @Mixin
    private Change change = new Change();

    @Override
    public Integer call() throws Exception {
        change.patch(ControlClient.object().put("paused", true));
        return OK;
    }
}
