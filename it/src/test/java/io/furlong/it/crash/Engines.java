package io.furlong.it.crash;

import io.furlong.cli.Furlong;
import io.furlong.sglang.testing.TinyServer;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Embedded engines in processes of their own, each behind a {@link Front}, found by asking what says it is a router. */
final class Engines implements AutoCloseable {
    private static final String PLACES = "24";

    private final List<ChildProcess> processes = new ArrayList<>();
    private final List<URI> urls = new ArrayList<>();
    private final List<Front> fronts = new ArrayList<>();
    private final TinyServer router;

    private Engines(TinyServer router) {
        this.router = router;
    }

    static Engines start(Launcher launcher, int count, Front.Watcher watcher) throws IOException, InterruptedException {
        List<Front> fronts = new ArrayList<>();
        Engines engines = new Engines(new TinyServer(request -> request.path().equals("/list_workers")
                ? TinyServer.Reply.json(200, WireJson.write(Map.of("urls", fronts.stream().map(f -> f.url().toString()).toList())))
                : TinyServer.Reply.text(404, "")));
        for (int i = 0; i < count; i++) {
            engines.processes.add(launcher.start(Furlong.class, "engine-" + i, "engine", "--model", SmallRun.HOME.resolve("models/furlong-tiny").toString(), "--port", "0",
                    "--enable-lora", "--max-loras-per-batch", PLACES, "--max-loaded-loras", PLACES, "--max-lora-rank", "4", "--threads", "1"));
        }
        for (ChildProcess process : engines.processes) {
            Optional<String> ready = process.reads(line -> line.startsWith("engine:")) ? Optional.of(process.said().getLast()) : Optional.empty();
            URI url = URI.create(ready.orElseThrow(() -> new AssertionError("the engine did not start")).replaceAll(".* on ", ""));
            engines.urls.add(url);
            fronts.add(new Front(url, watcher));
        }
        engines.fronts.addAll(fronts);
        return engines;
    }

    URI url() {
        return router.url();
    }

    /** The engines' own addresses. */
    List<URI> urls() {
        return urls;
    }

    /** What stands before each engine. */
    List<Front> fronts() {
        return fronts;
    }

    /** kill -9 of one engine; nobody listens at its front's address any more either. */
    void kill(int engine) throws IOException, InterruptedException {
        processes.get(engine).kill();
        fronts.get(engine).close();
    }

    List<Front.Served> served() {
        return fronts.stream().flatMap(f -> f.served().stream()).toList();
    }

    @Override
    public void close() throws IOException, InterruptedException {
        router.close();
        fronts.forEach(Front::close);
        for (ChildProcess process : processes) {
            process.kill();
        }
    }
}
