package io.furlong.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A server as a process of its own, so that what it costs is not counted here. It says its address in the first line that it prints. */
final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;
    private final OutputStream in;
    private final URI url;

    /** @param main has a {@code main} method, and is on the class path of this process */
    ChildJvm(Class<?> main, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow()));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        in = process.getOutputStream();
        url = URI.create(readLine());
    }

    URI url() {
        return url;
    }

    /** Sends one line to its standard input. */
    void tell(String line) throws IOException {
        in.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        in.flush();
    }

    /** The next line that it prints. */
    String readLine() throws IOException {
        String line = out.readLine();
        if (line == null) {
            throw new IOException("the process ended: " + process.info().commandLine().orElse("?"));
        }
        return line;
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        out.close();
    }
}
