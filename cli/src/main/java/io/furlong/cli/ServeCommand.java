package io.furlong.cli;

import io.furlong.cli.config.ApiConfig;
import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.run.TrainingRun;
import io.furlong.control.config.AllowedRoots;
import io.furlong.core.MetricSink;
import io.furlong.server.ControlServer;
import io.furlong.server.Figures;
import io.furlong.server.ServerOptions;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.InstantSource;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "serve", mixinStandardHelpOptions = true, description = "Trains whatever adapters are registered over its HTTP API, until it is stopped.",
        footer = {"", "SIGTERM and Ctrl-C: what is committed stays; a later start goes on from there. Exit code 0.", "",
            "Example:", "  furlong serve run.yaml --log-json"})
final class ServeCommand implements FurlongCommand {
    private static final int LARGEST_BODY = 1 << 20;

    @Parameters(paramLabel = "FILE", description = "The run.yaml; it need not name any adapters.")
    private Path file = Path.of("");

    @Option(names = "--host", paramLabel = "ADDRESS", description = "In place of api.host; off loopback a token must have been issued.")
    private Optional<String> host = Optional.empty();

    @Option(names = "--port", paramLabel = "N", description = "In place of api.port; 0 takes a free one.")
    private Optional<Integer> port = Optional.empty();

    @Option(names = "--log-json", description = "Events as JSON, one a line.")
    private boolean logJson;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        Logs.showEvents(logJson ? Logs.Form.JSON : Logs.Form.TEXT);
        RunConfig config = RunConfigReader.read(file, RunConfigReader.Overrides.NONE);
        ApiConfig api = new ApiConfig(host.orElse(config.api().host()), port.orElse(config.api().port()), config.api().roots());
        InstantSource clock = InstantSource.system();
        Figures figures = new Figures();
        List<MetricSink> sinks = new ArrayList<>(RunRecord.installedSinks());
        sinks.add(figures);
        AtomicReference<Runnable> stop = new AtomicReference<>(() -> {});
        try (Interruptions.Hold _ = Interruptions.onStop(() -> stop.get().run(), OK);
                RunRecord record = RunRecord.in(RunDirectory.make(config.runs(), "serve", LocalDateTime.now()), clock, sinks);
                TrainingRun run = TrainingRun.open(config, record, TrainingRun.Stop.WHEN_ASKED, clock);
                ControlServer server = listen(api, config, run, figures);
                EventLog _ = EventLog.follow(run.registry().events())) {
            run.onPublish(server.publishes());
            stop.set(run::stop);
            PrintWriter out = spec.commandLine().getOut();
            out.println("control API on http://" + api.host() + ":" + server.port() + "; figures in " + RunDirectory.shown(record.directory()));
            out.flush();
            record.finish(run.run());
        }
        return OK;
    }

    private static ControlServer listen(ApiConfig api, RunConfig config, TrainingRun run, Figures figures) {
        try {
            return ControlServer.start(new ServerOptions(api.host(), api.port(), config.adapterReader(), AllowedRoots.of(api.roots()), config.directory(),
                    run.probes(), run.ledgers(), figures, LARGEST_BODY), run.registry());
        } catch (IllegalStateException e) {
            throw new Mistake(String.valueOf(e.getMessage()));
        }
    }
}
