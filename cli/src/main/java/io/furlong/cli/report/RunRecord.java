package io.furlong.cli.report;

import io.furlong.core.MetricSink;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one run leaves in its directory: {@code metrics.jsonl} while it runs, {@code summary.json} and {@code report.html}
 * when it ends. It is itself the sink that figures go to.
 */
public final class RunRecord implements MetricSink {
    private static final Logger LOG = LoggerFactory.getLogger(RunRecord.class);

    private final Path directory;
    private final MetricsFile file;
    private final RunHistory history = new RunHistory();
    private final List<MetricSink> others;

    private RunRecord(Path directory, MetricsFile file, List<MetricSink> others) {
        this.directory = directory;
        this.file = file;
        this.others = new CopyOnWriteArrayList<>(others);
    }

    /**
     * Makes the directory where needed; figures of an earlier part of the same run stay.
     *
     * @param others further sinks; closed with the record
     */
    public static RunRecord in(Path directory, InstantSource clock, List<MetricSink> others) throws IOException {
        Files.createDirectories(directory);
        return new RunRecord(directory, new MetricsFile(directory.resolve("metrics.jsonl"), clock), others);
    }

    /** The sinks that users have put on the class path. */
    public static List<MetricSink> installedSinks() {
        return ServiceLoader.load(MetricSink.class).stream().map(ServiceLoader.Provider::get).toList();
    }

    @Override
    public void record(String adapter, long step, Map<String, Double> values) {
        history.record(adapter, step, values);
        file.record(adapter, step, values);
        for (MetricSink sink : others) {
            try {
                sink.record(adapter, step, values);
            } catch (RuntimeException e) {
                others.remove(sink);
                LOG.warn("metric sink {} failed and gets nothing more: {}", sink.getClass().getName(), e.toString());
            }
        }
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
        others.forEach(RunRecord::closeQuietly);
    }

    private static void closeQuietly(MetricSink sink) {
        try {
            sink.close();
        } catch (Exception e) {
            LOG.warn("metric sink {} did not close: {}", sink.getClass().getName(), e.toString());
        }
    }
}
