package io.furlong.bench;

import io.furlong.core.PolicyStamp;
import io.furlong.engine.Engine;
import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.engine.Generation;
import io.furlong.sglang.Fleet;
import io.furlong.sglang.FleetConfig;
import io.furlong.sglang.FleetPublisher;
import io.furlong.sglang.Http;
import io.furlong.torch.BaseModel;
import io.furlong.torch.TorchArtifact;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.SamplingParams;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What one adapter's tokens notice of another's new versions: 16 sequences run on an embedded engine while a hundred versions of another
 * adapter come into force there over HTTP, each loaded and proven by its canary. Gaps are those between two tokens of one sequence, as its
 * caller gets them.
 */
final class TokenGapBench {
    private static final int RUNNING = 16;
    private static final int PUSHES = 100;
    private static final int PROMPT = 16;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final Path model;
    private final Shape shape;
    private final int pushes;

    /** @param model a directory whose name the engine takes; the base itself has the given shape */
    TokenGapBench(Path model, Shape shape) {
        this.model = model;
        this.shape = shape;
        this.pushes = shape == Shape.TINY ? PUSHES : PUSHES / 5;
    }

    List<Figure> run() throws Exception {
        int rank = shape == Shape.TINY ? 8 : 32;
        EngineOptions options = EngineOptions.builder(model).enableLora(true).skipTokenizerInit(true).maxLorasPerBatch(8).maxLoraRank(rank).build();
        try (ScratchDirectory scratch = ScratchDirectory.create(); BaseModel base = shape.model(); Pushes others = new Pushes(base, rank, scratch.path());
                EngineServer server = EngineServer.start(options, base); Http http = Http.open();
                Fleet fleet = Fleet.direct(http, List.of(URI.create("http://127.0.0.1:" + server.port())), FleetConfig.DIRECT.withDeadlines(PATIENCE, PATIENCE, PATIENCE), PATIENCE);
                ExecutorService sequences = Executors.newVirtualThreadPerTaskExecutor()) {
            FleetPublisher publisher = new FleetPublisher(fleet, others.shape());
            TorchArtifact own = others.next();
            publisher.publish(own);
            Deque<PolicyStamp> inForce = new ArrayDeque<>();
            gaps(server.engine(), own.stamp().servedName(), sequences, () -> push(publisher, others, inForce, 5)); // warms up
            long start = System.nanoTime();
            double[] during = gaps(server.engine(), own.stamp().servedName(), sequences, () -> push(publisher, others, inForce, pushes));
            double span = Repeat.seconds(start);
            double[] without = gaps(server.engine(), own.stamp().servedName(), sequences, () -> new CountDownLatch(1).await((long) (span * 1e9), TimeUnit.NANOSECONDS));
            String name = shape + " tokens while " + pushes + " versions of another adapter come: ";
            return List.of(Figure.of(name + "median step", "ms", List.of(quantile(during, 0.5))), Figure.of(name + "99.9 %", "ms", List.of(quantile(during, 0.999))),
                    Figure.of(name + "largest gap", "ms", List.of(quantile(during, 1))),
                    Figure.of(name + "largest gap against the median", "ratio", List.of(quantile(during, 1) / quantile(during, 0.5))).atMost(3),
                    Figure.of(shape + " tokens while none come: median step", "ms", List.of(quantile(without, 0.5))),
                    Figure.of(shape + " tokens while none come: 99.9 %", "ms", List.of(quantile(without, 0.999))),
                    Figure.of(shape + " tokens while none come: largest gap against the median", "ratio", List.of(quantile(without, 1) / quantile(without, 0.5))));
        }
    }

    private interface Meanwhile {
        void run() throws Exception;
    }

    private static void push(FleetPublisher publisher, Pushes versions, Deque<PolicyStamp> inForce, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            TorchArtifact next = versions.next();
            publisher.publish(next);
            inForce.add(next.stamp());
            if (inForce.size() > 1) {
                publisher.release(inForce.remove());
            }
        }
    }

    /** Milliseconds between tokens of the sequences that ran meanwhile, sorted. */
    private double[] gaps(Engine engine, String adapter, ExecutorService threads, Meanwhile meanwhile) throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        List<Future<List<Double>>> running = new ArrayList<>();
        for (int i = 0; i < RUNNING; i++) {
            int n = i;
            running.add(threads.submit(() -> sequence(engine, adapter, n, over)));
        }
        meanwhile.run();
        over.set(true);
        List<Double> all = new ArrayList<>();
        for (Future<List<Double>> one : running) {
            all.addAll(one.get());
        }
        return all.stream().mapToDouble(d -> d).sorted().toArray();
    }

    /** One sequence after the other; the first token of each comes after its prefill, and does not count. */
    private List<Double> sequence(Engine engine, String adapter, int n, AtomicBoolean over) throws Exception {
        Random random = new Random(n);
        SamplingParams params = SamplingParams.builder().maxNewTokens(1024).ignoreEos(true).build();
        List<Double> gaps = new ArrayList<>();
        while (true) {
            Generation generation = engine.submit(GenerateRequest.ofIds(random.ints(PROMPT, 0, shape.config().vocabSize()).toArray(), params).withAdapter(adapter).streaming());
            generation.take();
            long last = System.nanoTime();
            for (boolean ended = false; !ended;) {
                ended = generation.take().finish().isPresent();
                long now = System.nanoTime();
                gaps.add((now - last) / 1e6);
                last = now;
                if (over.get()) {
                    generation.abort();
                    return gaps;
                }
            }
        }
    }

    private static double quantile(double[] sorted, double share) {
        return sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    }
}
