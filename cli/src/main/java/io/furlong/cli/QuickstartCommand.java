package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "quickstart", mixinStandardHelpOptions = true,
        description = "Trains three adapters at once on the shipped tiny base model, on this machine's CPU, and shows what they learnt.",
        footer = {"", "Runs examples/quickstart/run.yaml. Ctrl-C ends it early; the adapters stay as far as they are trained.", "",
            "Example:", "  furlong quickstart --seed 7"})
final class QuickstartCommand implements FurlongCommand {
    @Option(names = "--seed", paramLabel = "N", description = "Decides first weights, order and draws (default: the file's).")
    private Optional<Long> seed = Optional.empty();

    @Option(names = "--steps", paramLabel = "N", description = "Optimizer steps an adapter (default: the file's).")
    private Optional<Integer> steps = Optional.empty();

    @Option(names = "--runs", paramLabel = "DIR", description = "Where the run's directory goes (default: runs beside this script).")
    private Optional<Path> runs = Optional.empty();

    @Override
    public Integer call() throws Exception {
        Path directory = RunDirectory.make(runs.orElseGet(() -> Home.directory().resolve("runs")).toAbsolutePath().normalize(), "quickstart", LocalDateTime.now());
        RunConfig config = RunConfigReader.read(Home.directory().resolve("examples/quickstart/run.yaml"), new RunConfigReader.Overrides(
                seed.map(OptionalLong::of).orElse(OptionalLong.empty()), steps.map(OptionalInt::of).orElse(OptionalInt.empty()),
                Optional.of(directory.resolve("furlong.db").toString()), Optional.of(directory)));
        System.out.println("Three adapters, one base model (" + RunDirectory.shown(config.model()) + "), seed " + config.seed() + ": "
                + String.join(", ", config.adapters().keySet()));
        return BoundedRun.go(config, directory, System.out);
    }
}
