package io.furlong.cli.adapters;

import io.furlong.cli.FurlongCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(name = "resume", mixinStandardHelpOptions = true, description = "Goes on after a pause.",
        footer = {"", "Example:", "  furlong adapters resume gsm8k"})
final class ResumeCommand implements FurlongCommand {
    @Mixin
    private Change change = new Change();

    @Override
    public Integer call() throws Exception {
        change.patch(ControlClient.object().put("paused", false));
        return OK;
    }
}
