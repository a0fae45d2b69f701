package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import io.furlong.control.Store;
import io.furlong.control.store.Stores;
import io.furlong.server.Access;
import java.nio.file.Path;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "token", mixinStandardHelpOptions = true, description = "Issues a token for a tenant of a service; it is shown once, only its hash is kept.",
        footer = {"", "With the first token every request needs one. A tenant sees its own adapters; the tenant '" + Access.OPERATOR + "' sees all.",
            "A SQLite store must not be in use by a running service.", "", "Example:", "  furlong token run.yaml team-a"})
final class TokenCommand implements FurlongCommand {
    @Parameters(index = "0", paramLabel = "FILE", description = "The service's run.yaml.")
    private Path file = Path.of("");

    @Parameters(index = "1", paramLabel = "TENANT", description = "Whose token it is.")
    private String tenant = "";

    @Option(names = "--label", paramLabel = "TEXT", defaultValue = "", description = "What it is for.")
    private String label = "";

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        RunConfig config = RunConfigReader.read(file, RunConfigReader.Overrides.NONE);
        if (config.store().equals("memory")) {
            throw new Mistake(file + ": store: got 'memory', must be a file or a database for tokens to stay");
        }
        try (Store store = Stores.open(config.store())) {
            spec.commandLine().getOut().println(Access.issue(store, tenant, label, Instant.now()));
        }
        return OK;
    }
}
