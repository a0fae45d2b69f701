package io.furlong.cli.report;

import io.furlong.core.MetricSink;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;

/**
 * What one run leaves in its directory: {@code metrics.jsonl} while it runs, {@code summary.json} and {@code report.html}
 * when it ends. It is itself the sink that figures go to.
 */
public final class RunRecord implements MetricSink {
    private final Path directory;
    private final MetricsFile file;
    private final RunHistory history = new RunHistory();

    private RunRecord(Path directory, MetricsFile file) {
        this.directory = directory;
        this.file = file;
    }

    /** Makes the directory where needed; figures of an earlier part of the same run stay. */
    public static RunRecord in(Path directory, InstantSource clock) throws IOException {
        Files.createDirectories(directory);
        return new RunRecord(directory, new MetricsFile(directory.resolve("metrics.jsonl"), clock));
    }

    @Override
    public void record(String adapter, long step, Map<String, Double> values) {
        history.record(adapter, step, values);
        file.record(adapter, step, values);
    }

    /** Writes the summary and the report. */
    public void finish(RunSummary summary) throws IOException {
        SummaryJson.write(directory.resolve("summary.json"), summary);
        Files.writeString(report(), Report.html(summary, history));
    }

    public Path directory() {
        return directory;
    }

    public Path report() {
        return directory.resolve("report.html");
    }

    public RunHistory history() {
        return history;
    }

    @Override
    public void close() {
        file.close();
    }
}
