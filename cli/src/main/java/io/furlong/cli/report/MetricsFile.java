package io.furlong.cli.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.core.MetricSink;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * {@code metrics.jsonl}: a line a record, {@code {"at","step","<adapter>/<key>":value,…}}; keys of the run itself have no
 * prefix, and a value that is not finite is {@code null}. Recording only queues; one thread writes and flushes each line,
 * so that a killed run keeps what it had.
 */
final class MetricsFile implements MetricSink {
    private static final String END = "";

    private final ObjectMapper json = new ObjectMapper();
    private final InstantSource clock;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final Thread writer;

    MetricsFile(Path file, InstantSource clock) throws IOException {
        this.clock = clock;
        BufferedWriter out = Files.newBufferedWriter(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        writer = Thread.ofVirtual().name("metrics-file").start(() -> write(out));
    }

    @Override
    public void record(String adapter, long step, Map<String, Double> values) {
        Instant now = clock.instant();
        ObjectNode line = json.createObjectNode().put("at", now.toString()).put("step", step);
        String prefix = adapter.isEmpty() ? "" : adapter + "/";
        values.forEach((key, value) -> {
            if (Double.isFinite(value)) {
                line.put(prefix + key, value);
            } else {
                line.putNull(prefix + key);
            }
        });
        lines.add(line.toString());
    }

    private void write(BufferedWriter out) {
        try (out) {
            for (String line = lines.take(); !line.equals(END); line = lines.take()) {
                out.write(line);
                out.newLine();
                if (lines.isEmpty()) {
                    out.flush();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("metrics.jsonl can't be written", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns when every line is written. */
    @Override
    public void close() {
        lines.add(END);
        try {
            writer.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
