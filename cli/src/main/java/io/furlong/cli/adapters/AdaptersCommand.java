package io.furlong.cli.adapters;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The commands around the adapters of a running service. */
@Command(name = "adapters", mixinStandardHelpOptions = true, description = "Lists, registers, changes and ends adapters of a running service.",
        subcommands = {ListCommand.class, ShowCommand.class, RegisterCommand.class, SetCommand.class, PauseCommand.class, ResumeCommand.class,
            RollbackCommand.class, ForkCommand.class, RetireCommand.class, WatchCommand.class, EventsCommand.class},
        footer = {"", "Example:", "  furlong adapters list"})
public final class AdaptersCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Say what to do: one of " + String.join(", ", spec.subcommands().keySet()));
    }
}
