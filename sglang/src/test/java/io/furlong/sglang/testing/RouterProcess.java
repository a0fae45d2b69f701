package io.furlong.sglang.testing;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * SGLang's own router, as a process, with the flags that Furlong asks for: its retries off, since they repeat a request id elsewhere, and
 * its breaker off, since it takes unknown adapters for broken workers. The environment variable {@code FURLONG_TEST_ROUTER} holds the
 * command that starts it (from the PyPI package {@code sglang-router}), words parted by spaces.
 */
public final class RouterProcess implements AutoCloseable {
    private final Process process;
    private final URI url;

    private RouterProcess(Process process, URI url) {
        this.process = process;
        this.url = url;
    }

    /** The command, if this machine has one. */
    public static Optional<List<String>> command() {
        return Optional.ofNullable(System.getenv("FURLONG_TEST_ROUTER")).filter(c -> !c.isBlank()).map(c -> List.of(c.split(" +")));
    }

    /** Returns when it answers and has all its workers. */
    public static RouterProcess start(List<String> program, List<URI> workers, Path log) throws IOException, InterruptedException {
        int port = freePort();
        List<String> command = new ArrayList<>(program);
        command.addAll(List.of("--host", "127.0.0.1", "--port", Integer.toString(port), "--policy", "round_robin", "--disable-retries", "--disable-circuit-breaker",
                "--worker-startup-check-interval", "1", "--prometheus-port", Integer.toString(freePort())));
        if (!workers.isEmpty()) {
            command.add("--worker-urls");
            workers.forEach(w -> command.add(w.toString()));
        }
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        RouterProcess router = new RouterProcess(process, URI.create("http://127.0.0.1:" + port));
        try {
            router.await(workers.size(), log);
            return router;
        } catch (IOException | InterruptedException | RuntimeException e) {
            router.close();
            throw e;
        }
    }

    private void await(int workers, Path log) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
            while (System.nanoTime() < end) {
                // Nothing tells when it has all its workers but asking: it takes them in after it listens, and logs that in words of each release's
                // own. The process's end is the only thing to wait on in between.
                if (process.waitFor(200, TimeUnit.MILLISECONDS)) {
                    throw new IllegalStateException("the router ended with " + process.exitValue() + ": " + Files.readString(log));
                }
                try {
                    String body = client.send(HttpRequest.newBuilder(URI.create(url + "/workers")).build(), HttpResponse.BodyHandlers.ofString()).body();
                    if (body.split("\"url\"", -1).length - 1 >= workers) {
                        return;
                    }
                } catch (IOException e) {
                    // not listening yet
                }
            }
        }
        throw new IllegalStateException("the router did not come up: " + Files.readString(log));
    }

    public URI url() {
        return url;
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
