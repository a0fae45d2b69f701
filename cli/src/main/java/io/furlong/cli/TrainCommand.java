package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "train", mixinStandardHelpOptions = true, description = "Trains the adapters that a run.yaml names, each to its end, and exits.",
        footer = {"", "What an earlier, interrupted run of the same store has under way goes on from its last step.", "",
            "Example:", "  furlong train examples/quickstart/run.yaml --validate-only"})
final class TrainCommand implements FurlongCommand {
    @Parameters(paramLabel = "FILE", description = "The run.yaml.")
    private Path file = Path.of("");

    @Option(names = "--seed", paramLabel = "N", description = "In place of the file's.")
    private Optional<Long> seed = Optional.empty();

    @Option(names = "--validate-only", description = "Check the file, its adapters, their data and rewards; train nothing.")
    private boolean validateOnly;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        OptionalLong given = seed.map(OptionalLong::of).orElse(OptionalLong.empty());
        RunConfig config = RunConfigReader.read(file, new RunConfigReader.Overrides(given, OptionalInt.empty(), Optional.empty(), Optional.empty()));
        if (config.adapters().isEmpty()) {
            throw new Mistake(file + ": adapters: names none, must name at least one ('furlong serve' runs without)");
        }
        if (validateOnly) {
            RunValidation.check(config);
            spec.commandLine().getOut().println(file + ": valid, " + config.adapters().size() + " adapter" + (config.adapters().size() == 1 ? "" : "s") + ": "
                    + String.join(", ", config.adapters().keySet()));
            return OK;
        }
        String stem = file.getFileName().toString().replaceFirst("\\.[^.]*$", "");
        Path directory = RunDirectory.make(config.runs(), stem, LocalDateTime.now());
        return BoundedRun.go(RunConfigReader.read(file, new RunConfigReader.Overrides(given, OptionalInt.empty(), Optional.empty(), Optional.of(directory))),
                directory, System.out);
    }
}
