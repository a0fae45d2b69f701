package io.furlong.bench;

import io.furlong.core.AdapterArtifact;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.sglang.EngineState;
import io.furlong.sglang.Fleet;
import io.furlong.sglang.FleetConfig;
import io.furlong.sglang.FleetPublisher;
import io.furlong.sglang.Http;
import io.furlong.sglang.ModelShape;
import io.furlong.sglang.testing.AdapterFiles;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TestArtifact;
import io.furlong.torch.BaseModel;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;

/**
 * From a version's finished directory to its coming into force on eight engines, over HTTP: each reads it, computes its digest and answers
 * the canary. Once with all of them well, once with one that hangs.
 *
 * <p>On the tiny base the engines are embedded ones on one shared base. For an adapter of 40 MB they are stand-ins that read the file and
 * compute its digest but no model, since eight engines of such a size would measure this machine's cores.
 */
final class PublishBench {
    private static final int ENGINES = 8;
    private static final int LARGE = 40 << 20;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final Path model;
    private final int times;

    /** @param model a directory whose name engines take; the base itself has the tiny shape */
    PublishBench(Path model, int times) {
        this.model = model;
        this.times = times;
    }

    List<Figure> run() throws Exception {
        List<Figure> figures = new ArrayList<>(tiny());
        figures.addAll(large());
        return figures;
    }

    private List<Figure> tiny() throws Exception {
        List<EngineServer> engines = new ArrayList<>();
        try (ScratchDirectory scratch = ScratchDirectory.create(); BaseModel base = Shape.TINY.model(); Pushes pushes = new Pushes(base, 8, scratch.path())) {
            List<URI> urls = new ArrayList<>();
            for (int i = 0; i < ENGINES; i++) {
                engines.add(EngineServer.start(EngineOptions.builder(model).enableLora(true).skipTokenizerInit(true).maxLorasPerBatch(8).maxLoraRank(8).build(), base));
                urls.add(URI.create("http://127.0.0.1:" + engines.getLast().port()));
            }
            return measure(urls, pushes.shape(), pushes::next, "tiny base", 1);
        } finally {
            engines.forEach(EngineServer::close);
        }
    }

    private List<Figure> large() throws Exception {
        List<SglangDouble> engines = new ArrayList<>();
        try (ScratchDirectory scratch = ScratchDirectory.create()) {
            for (int i = 0; i < ENGINES; i++) {
                engines.add(new SglangDouble(Quirks.RELEASED));
            }
            RegistrationId registration = RegistrationId.random();
            AtomicLong version = new AtomicLong();
            Callable<AdapterArtifact> next = () -> TestArtifact.make(scratch.path(), "bench", registration, version.incrementAndGet(), version.get() == 1 ? 0 : 0.3,
                    LARGE / AdapterFiles.BYTES_A_RANK);
            return measure(engines.stream().map(SglangDouble::url).toList(), AdapterFiles.SHAPE, next, "40 MB adapter", 3);
        } finally {
            engines.forEach(SglangDouble::close);
        }
    }

    private List<Figure> measure(List<URI> engines, ModelShape shape, Callable<? extends AdapterArtifact> next, String name, double target) throws Exception {
        List<URI> urls = new ArrayList<>(engines);
        try (HangingProxy last = new HangingProxy(urls.removeLast()); Http http = Http.open()) {
            urls.add(last.url());
            try (Fleet fleet = Fleet.direct(http, urls, FleetConfig.DIRECT, PATIENCE)) {
                Publishing publishing = new Publishing(fleet, new FleetPublisher(fleet, shape), next, new ArrayDeque<>());
                List<Double> well = new ArrayList<>();
                List<Double> hung = new ArrayList<>();
                List<Double> acknowledged = new ArrayList<>();
                List<Double> others = new ArrayList<>();
                publishing.awaitAll();
                publishing.push(new ArrayList<>()); // a first version, to one engine alone first
                publishing.push(new ArrayList<>());
                for (int i = 0; i < times; i++) {
                    publishing.awaitAll();
                    well.add(publishing.push(acknowledged));
                    publishing.awaitAll();
                    last.hang();
                    hung.add(publishing.push(others));
                    last.letGo();
                }
                return List.of(Figure.of("publish, " + name + ", " + ENGINES + " engines", "s", well).atMost(target),
                        Figure.of("publish, " + name + ": engines that had it then", "", acknowledged).atLeast(ENGINES),
                        Figure.of("publish, " + name + ", one of them hung", "s", hung).atMost(target),
                        Figure.of("publish, " + name + ", one hung: engines that had it then", "", others).atLeast(ENGINES - 1));
            }
        }
    }

    /** One adapter on its way to one fleet; {@code inForce} holds the version that came last. */
    private record Publishing(Fleet fleet, FleetPublisher publisher, Callable<? extends AdapterArtifact> next, Deque<PolicyStamp> inForce) {
        void awaitAll() throws InterruptedException {
            if (!fleet.awaitReady(ENGINES, PATIENCE)) {
                throw new IllegalStateException("not all engines are ready: " + fleet.engines());
            }
        }

        /** Seconds until the next version is in force; the one before is released then. */
        double push(List<Double> acknowledged) throws Exception {
            AdapterArtifact version = next.call();
            long start = System.nanoTime();
            publisher.publish(version);
            double seconds = Repeat.seconds(start);
            acknowledged.add((double) fleet.engines().stream().filter(e -> e.state() == EngineState.READY).count());
            inForce.add(version.stamp());
            if (inForce.size() > 1) {
                publisher.release(inForce.remove());
            }
            return seconds;
        }
    }
}
