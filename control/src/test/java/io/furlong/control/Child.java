package io.furlong.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A {@link Controller} in a process of its own, and what it said. */
final class Child {
    private final Process process;
    private final PrintWriter orders;
    private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final List<String> said = new ArrayList<>();
    private final Thread reader;
    private final long start = System.nanoTime();

    private Child(Process process) {
        this.process = process;
        this.orders = new PrintWriter(process.outputWriter(), true);
        this.reader = Thread.ofVirtual().start(() -> {
            try (BufferedReader r = process.inputReader()) {
                r.lines().forEach(lines::add);
            } catch (IOException | UncheckedIOException e) {
                lines.add("GONE");
            }
        });
    }

    static Child controller(String store, String name) throws IOException {
        return new Child(new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(), "-Xmx128m", "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"), Controller.class.getName(), store, name)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start());
    }

    Process process() {
        return process;
    }

    /** Lines that {@link #expect} has gone past. */
    List<String> said() {
        return said;
    }

    void order(String line) {
        orders.println(line);
    }

    /** The next line that begins so; others are passed over and remembered. */
    String expect(String beginning) throws InterruptedException {
        while (true) {
            String line = lines.poll(60, TimeUnit.SECONDS);
            assertThat(line).as("'" + beginning + "' after " + said).isNotNull();
            said.add(line);
            if (line.startsWith(beginning)) {
                return line;
            }
        }
    }

    /** Ends it without warning and returns every whole line it said. */
    List<String> kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
        reader.join();
        lines.drainTo(said);
        return said;
    }

    /** Seconds that a slow machine took to start the process, at most. */
    long startedLate() {
        return Math.max(0, Duration.ofNanos(System.nanoTime() - start).toSeconds() - 8);
    }

    void signal(String name) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor()).isZero();
    }
}
