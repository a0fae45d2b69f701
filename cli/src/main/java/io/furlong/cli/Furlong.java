package io.furlong.cli;

import io.furlong.cli.adapters.AdaptersCommand;
import java.util.ServiceLoader;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The program. */
@Command(name = "furlong", mixinStandardHelpOptions = true, versionProvider = VersionCommand.Line.class,
        description = "Trains many LoRA adapters at once, by reinforcement learning, on one shared base model.",
        subcommands = {QuickstartCommand.class, TrainCommand.class, ServeCommand.class, AdaptersCommand.class, EngineCommand.class,
            GenerateCommand.class, EvalCommand.class, ExportCommand.class, TokenCommand.class, PretrainCommand.class,
            DoctorCommand.class, VersionCommand.class, HelpCommand.class},
        footer = {"", "Start with:", "  furlong quickstart", "", "Exit codes: 0 done, 1 something failed, 2 a mistake in the command line or in a file."})
public final class Furlong implements Runnable {
    @Spec
    private CommandSpec spec;

    private Furlong() {}

    public static void main(String[] args) {
        Logs.quietLibraries();
        System.exit(commandLine().execute(args));
    }

    /** The commands of this module, and of every other on the class path. */
    static CommandLine commandLine() {
        CommandLine line = new CommandLine(new Furlong());
        ServiceLoader.load(FurlongCommand.class).forEach(line::addSubcommand);
        line.setExecutionExceptionHandler(Complaint::about);
        line.setParameterExceptionHandler(Complaint::about);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        return line;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Say what to do: one of " + String.join(", ", spec.subcommands().keySet()));
    }
}
