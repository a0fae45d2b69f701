package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.report.LiveView;
import io.furlong.cli.report.ResultTable;
import io.furlong.cli.report.RunRecord;
import io.furlong.cli.report.RunSummary;
import io.furlong.cli.run.TrainingRun;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;

/** A run that ends by itself, as a command shows it: live view, table, paths, exit code. Ctrl-C ends it early and cleanly. */
final class BoundedRun {
    private BoundedRun() {}

    static int go(RunConfig config, Path directory, PrintStream out) throws Exception {
        InstantSource clock = InstantSource.system();
        AtomicReference<Runnable> stop = new AtomicReference<>(() -> {});
        try (Interruptions.Hold _ = Interruptions.onStop(() -> stop.get().run(), Interruptions.INTERRUPTED);
                RunRecord record = RunRecord.in(directory, clock, RunRecord.installedSinks());
                TrainingRun run = TrainingRun.open(config, record, TrainingRun.Stop.WHEN_ALL_ENDED, clock)) {
            stop.set(run::stop);
            RunSummary summary;
            try (LiveView _ = LiveView.start(out, LiveView.Terminal.ofStandardOutput(), clock, run::lines)) {
                summary = run.run();
            }
            record.finish(summary);
            show(summary, record, out);
            return summary.succeeded() ? FurlongCommand.OK : FurlongCommand.FAILED;
        }
    }

    private static void show(RunSummary summary, RunRecord record, PrintStream out) {
        out.println();
        ResultTable.of(summary).forEach(out::println);
        out.println();
        for (RunSummary.AdapterResult a : summary.adapters()) {
            a.exported().ifPresent(path -> out.println("adapter  " + RunDirectory.shown(path)));
        }
        out.println("report   " + RunDirectory.shown(record.report()));
        out.println("figures  " + RunDirectory.shown(record.directory()) + "/{summary.json,metrics.jsonl}");
        out.flush();
    }
}
