package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.run.Export;
import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.VersionRow;
import io.furlong.control.store.Stores;
import io.furlong.train.checkpoint.Checkpoint;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "export", mixinStandardHelpOptions = true,
        description = "Copies a committed version of an adapter out as a PEFT directory, after checking every byte of it.",
        footer = {"", "Works for ended and failed adapters too. A SQLite store must not be in use by a running service.", "",
            "Example:", "  furlong export run.yaml gsm8k --to gsm8k-lora"})
final class ExportCommand implements FurlongCommand {
    @Parameters(index = "0", paramLabel = "FILE", description = "The run.yaml whose store knows the adapter.")
    private Path file = Path.of("");

    @Parameters(index = "1", paramLabel = "NAME", description = "The adapter.")
    private String name = "";

    @Option(names = "--to", required = true, paramLabel = "DIR", description = "Where the two PEFT files go.")
    private Path target = Path.of("");

    @Option(names = "--step", paramLabel = "N", description = "Its state after this optimizer step (default: the last).")
    private Optional<Long> step = Optional.empty();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        RunConfig config = RunConfigReader.read(file, RunConfigReader.Overrides.NONE);
        try (Store store = Stores.open(config.store())) {
            Registration adapter = store.latest(name).orElseThrow(() -> new Mistake("adapter '" + name + "' was never registered in " + config.store()));
            List<VersionRow> kept = store.versions(adapter.id()).stream().filter(v -> v.state() != VersionRow.State.REMOVED).toList();
            VersionRow version = kept.reversed().stream().filter(v -> step.isEmpty() || v.commit().stamp().step() == step.get()).findFirst()
                    .orElseThrow(() -> new Mistake(kept.isEmpty() ? "adapter '" + name + "' has no committed version"
                            : "adapter '" + name + "' has no version of step " + step.orElse(0L) + " any more; kept are "
                            + String.join(", ", kept.stream().map(v -> Long.toString(v.commit().stamp().step())).distinct().toList())));
            Checkpoint.open(version.commit().checkpoint());
            Export.peft(version.commit().checkpoint(), target);
            spec.commandLine().getOut().println(name + ": step " + version.commit().stamp().step() + ", version " + version.commit().stamp().version() + " → "
                    + RunDirectory.shown(target));
        }
        return OK;
    }
}
