package io.furlong.it.crash;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** A process of ours, and what it says. */
final class ChildProcess {
    private static final int KILLED = 137;
    private final Process process;
    private final BufferedReader reader;
    private final Path errors;
    private final List<String> said = new ArrayList<>();

    /** @param errors where its standard error goes */
    ChildProcess(List<String> command, Path errors) throws IOException {
        this.errors = errors;
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(errors.toFile()));
        builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
        process = builder.start();
        reader = process.inputReader();
    }

    /** Reads until a line fits, or the process is gone. */
    boolean reads(Predicate<String> wanted) throws IOException {
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            said.add(line);
            if (wanted.test(line)) {
                return true;
            }
        }
        return false;
    }

    /** What it said on its standard error. */
    String errors() throws IOException {
        return Files.readString(errors);
    }

    List<String> said() {
        return said;
    }

    /** kill -9; what it had said by then is read to the end. */
    void kill() throws IOException, InterruptedException {
        die();
        reads(line -> false);
        process.waitFor();
    }

    /** kill -9, by another thread than the one that reads. */
    void die() {
        // Not by the process itself, which would close its output with what is left in it.
        process.toHandle().destroyForcibly();
    }

    /** Sends it a signal, such as STOP. */
    void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor();
    }

    /** Waits until it is gone, and gives its exit code. */
    int exitCode() throws IOException, InterruptedException {
        reads(line -> false);
        return process.waitFor();
    }

    /** Waits until it is gone, and says whether it ended by itself and well; fails if it ended by itself and not well. */
    boolean ends() throws IOException, InterruptedException {
        int code = exitCode();
        if (code != 0 && code != KILLED) {
            throw new AssertionError("exit code " + code + " after " + said.size() + " lines: " + Files.readString(errors));
        }
        return code == 0;
    }

    List<Move> moves() {
        return said.stream().flatMap(line -> Move.parse(line).stream()).toList();
    }
}
