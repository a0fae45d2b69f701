package io.furlong.sglang.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.management.HotSpotDiagnosticMXBean;
import io.furlong.core.PublishException;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.EngineView;
import io.furlong.sglang.Fleet;
import io.furlong.sglang.FleetConfig;
import io.furlong.sglang.FleetPublisher;
import io.furlong.sglang.Http;
import io.furlong.sglang.ModelShape;
import io.furlong.sglang.SamplerLimits;
import io.furlong.sglang.SglangSampler;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Many adapters sampling and publishing on many engines while these fail at random: killed, restarted, hanging, answering 5xx, slow, cut off
 * in the middle of an answer, unable to read the adapter directory; and the router forgetting everything. One adapter is bad from the start.
 * Nothing here is trained; what a trainer would get is checked, token by token, against the weights that its stamp names.
 */
public final class Chaos {
    private static final int STALENESS = 1;
    private static final int SAMPLES_A_STEP = 8;
    private static final Duration OVERALL = Duration.ofSeconds(20);
    private static final ModelShape SHAPE = AdapterFiles.SHAPE;

    /**
     * What came of one adapter.
     *
     * @param steps     of it, completed; {@code late} of them in the second half
     * @param wrong     samples whose log-probs are not those of the weights that the stamp names
     * @param failed    reason why the adapter itself failed; empty when it did not
     */
    public record Tenant(String name, int dispatched, int trained, Map<SamplerException.Kind, Integer> lost, int steps, int late, int wrong, String failed) {}

    /**
     * What was left at the end.
     *
     * @param tenants the first is the bad one
     */
    public record Report(List<Tenant> tenants, List<EngineView> engines, int mostLoadedAboveTainted, int faults, int connectionsLeft, List<String> threadsLeft) {
        /** Attempts that neither came back nor were reported as lost. */
        public int unaccounted() {
            return tenants.stream().mapToInt(t -> t.dispatched() - t.trained() - t.lost().values().stream().mapToInt(Integer::intValue).sum()).sum();
        }

        /** Samples made by other weights than their stamp says. */
        public int wrong() {
            return tenants.stream().mapToInt(Tenant::wrong).sum();
        }

        /** Good adapters that failed, or took no step in the second half. */
        public int stopped() {
            return (int) tenants.stream().skip(1).filter(t -> !t.failed().isEmpty() || t.late() == 0).count();
        }

        /** Engines that the bad adapter took down with it. */
        public int lostToBadAdapter() {
            return (int) engines.stream().filter(e -> e.reason().contains(tenants.getFirst().name() + ".")).count();
        }
    }

    private final Path root;
    private final int adapters;
    private final Duration time;
    private final Random random;
    private final List<SglangDouble> engines = new ArrayList<>();
    private final CountDownLatch over = new CountDownLatch(1);
    private final AtomicInteger most = new AtomicInteger();
    private volatile boolean secondHalf;

    private Chaos(Path root, int engines, int adapters, Duration time, long seed) {
        this.root = root;
        this.adapters = adapters;
        this.time = time;
        this.random = new Random(seed);
        for (int i = 0; i < engines; i++) {
            this.engines.add(new SglangDouble(Quirks.RELEASED.withPlaces(64).withTokenTime(300_000)));
        }
    }

    /** Runs for {@code time} and a little more. Adapter 0 is the bad one. */
    public static Report run(Path root, int engines, int adapters, Duration time, long seed) throws Exception {
        return new Chaos(root, engines, adapters, time, seed).run();
    }

    private Report run() throws Exception {
        FleetConfig config = FleetConfig.DIRECT.withPauses(Duration.ofMillis(100), Duration.ofSeconds(1), Duration.ofMillis(250))
                .withDeadlines(Duration.ofSeconds(3), Duration.ofSeconds(4), Duration.ofSeconds(4)).withMaxLeakedLoras(10_000);
        SamplerLimits limits = new SamplerLimits(Duration.ofSeconds(5), 50, Duration.ofMillis(20), Duration.ofMillis(500), Duration.ofSeconds(2));
        List<Tenant> tenants = new ArrayList<>();
        List<EngineView> views;
        int faults;
        Http http = Http.open();
        try (RouterDouble router = new RouterDouble(RouterDouble.Kind.GATEWAY, engines.stream().map(SglangDouble::url).toList());
                Fleet fleet = Fleet.at(http, router.url(), Fleet.Routing.DIRECT, config, Duration.ofSeconds(20));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            FleetPublisher publisher = new FleetPublisher(fleet, SHAPE);
            SglangSampler sampler = new SglangSampler(fleet, limits);
            List<Future<Tenant>> running = new ArrayList<>();
            for (int i = 0; i < adapters; i++) {
                String name = "t" + i;
                double effect = i == 0 ? Double.NaN : 0.3;
                running.add(threads.submit(() -> tenant(name, effect, publisher, sampler, threads)));
            }
            Future<Integer> faulty = threads.submit(() -> faults(fleet, router));
            over.await(time.toMillis() / 2, TimeUnit.MILLISECONDS);
            secondHalf = true;
            over.await(time.toMillis() / 2, TimeUnit.MILLISECONDS);
            over.countDown();
            faults = faulty.get();
            for (Future<Tenant> one : running) {
                tenants.add(one.get());
            }
            views = fleet.engines();
        }
        http.close();
        int connections = awaitNoConnections();
        engines.forEach(SglangDouble::close);
        return new Report(tenants, views, most.get(), faults, connections, threadsOfTheClient());
    }

    /** Those still at work on the fleet, virtual ones included. */
    private List<String> threadsOfTheClient() throws IOException {
        Path dump = root.resolve("threads.json").toAbsolutePath();
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpThreads(dump.toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.JSON);
        List<String> left = new ArrayList<>();
        for (JsonNode container : WireJson.mapper().readTree(Files.readAllBytes(dump)).path("threadDump").path("threadContainers")) {
            for (JsonNode thread : container.path("threads")) {
                String stack = thread.path("stack").toString().replace("io.furlong.sglang.testing.", "");
                if (stack.contains("io.furlong.sglang.") && thread.path("tid").asLong() != Thread.currentThread().threadId() || thread.path("name").asText().equals(Http.DEADLINES)) {
                    left.add(thread.toString());
                }
            }
        }
        return left;
    }

    private int awaitNoConnections() throws InterruptedException {
        int open = 0;
        for (SglangDouble engine : engines) {
            open += engine.awaitNoConnections(Duration.ofSeconds(5));
        }
        return open;
    }

    // One tenant

    private Tenant tenant(String name, double effect, FleetPublisher publisher, SglangSampler sampler, ExecutorService threads) throws Exception {
        RegistrationId registration = RegistrationId.random();
        Path mine = Files.createDirectories(root.resolve(name));
        Map<SamplerException.Kind, Integer> lost = new EnumMap<>(SamplerException.Kind.class);
        int dispatched = 0;
        int trained = 0;
        int steps = 0;
        int late = 0;
        int wrong = 0;
        String failed = "";
        TestArtifact inForce = null;
        TestArtifact before = null;
        for (long version = 1; over.getCount() > 0 && failed.isEmpty(); version++) {
            TestArtifact next = TestArtifact.make(mine, name, registration, version, version == 1 && !Double.isNaN(effect) ? 0 : effect);
            failed = publish(publisher, next);
            if (!failed.isEmpty() || over.getCount() == 0) {
                break;
            }
            if (before != null) {
                publisher.release(before.stamp());
            }
            before = inForce;
            inForce = next;
            TestArtifact pinned = inForce;
            List<Future<SampleResult>> all = new ArrayList<>();
            for (int i = 0; i < SAMPLES_A_STEP; i++) {
                dispatched++;
                SampleRequest request = new SampleRequest(name, pinned.stamp(), new int[] {5, 6, 7}, SamplingConfig.at(1, 16), version * 100 + i,
                        name + version + "/" + i / 4, OVERALL, () -> true);
                all.add(threads.submit(() -> sampler.sample(request)));
            }
            boolean complete = true;
            for (Future<SampleResult> one : all) {
                try {
                    wrong += madeBy(one.get(), pinned) ? 0 : 1;
                    trained++;
                } catch (ExecutionException e) {
                    if (!(e.getCause() instanceof SamplerException s)) {
                        throw e;
                    }
                    lost.merge(s.kind(), 1, Integer::sum);
                    complete = false;
                }
            }
            if (complete) {
                steps++;
                late += secondHalf ? 1 : 0;
            }
        }
        sampler.abort(registration);
        return new Tenant(name, dispatched, trained, Map.copyOf(lost), steps, late, wrong, failed);
    }

    private String publish(FleetPublisher publisher, TestArtifact next) throws InterruptedException {
        while (over.getCount() > 0) {
            try {
                publisher.publish(next);
                return "";
            } catch (PublishException e) {
                if (e.blame() == PublishException.Blame.ADAPTER) {
                    return e.getMessage();
                }
                over.await(100, TimeUnit.MILLISECONDS);
            }
        }
        return "";
    }

    private static boolean madeBy(SampleResult result, TestArtifact version) {
        for (int i = 0; i < result.tokenIds().length; i++) {
            float right = HashModel.logProb(result.tokenIds()[i], 3 + i, version.delta(), 0, "");
            if (Math.abs(right - result.logProbs()[i]) > 1e-5) {
                return false;
            }
        }
        return true;
    }

    // Faults

    private int faults(Fleet fleet, RouterDouble router) throws InterruptedException {
        int count = 0;
        while (!over.await(100 + random.nextInt(300), TimeUnit.MILLISECONDS)) {
            SglangDouble engine = engines.get(random.nextInt(engines.size()));
            int kind = random.nextInt(8);
            count++;
            switch (kind) {
                case 0 -> {
                    engine.kill();
                    over.await(200 + random.nextInt(600), TimeUnit.MILLISECONDS);
                    engine.start();
                }
                case 1 -> engine.restart();
                case 2 -> during(engine, new Fault.Hang(new CountDownLatch(1)));
                case 3 -> during(engine, new Fault.Status(500, "Internal Server Error"));
                case 4 -> during(engine, new Fault.DropMidway());
                case 5 -> engine.cutAll();
                case 6 -> {
                    engine.unreadable(true);
                    over.await(300, TimeUnit.MILLISECONDS);
                    engine.unreadable(false);
                }
                default -> {
                    router.restartEmpty();
                    engines.forEach(e -> router.add(e.url()));
                }
            }
            for (EngineView view : fleet.engines()) {
                SglangDouble one = engines.stream().filter(e -> e.url().equals(view.url())).findFirst().orElseThrow();
                most.accumulateAndGet(one.loaded().size() - view.tainted(), Math::max);
            }
        }
        return count;
    }

    /** For a while every generation, or every call, meets the fault. */
    private void during(SglangDouble engine, Fault fault) throws InterruptedException {
        boolean generationsOnly = random.nextBoolean();
        engine.always(r -> !generationsOnly || r.path().equals("/generate") ? fault : new Fault.None());
        over.await(200 + random.nextInt(600), TimeUnit.MILLISECONDS);
        engine.always(r -> new Fault.None());
        if (fault instanceof Fault.Hang(CountDownLatch until)) {
            until.countDown();
        }
    }

    /** The bound on adapters that an engine may hold beside tainted ones. */
    public static int mostAllowed(int adapters) {
        return adapters * (STALENESS + 2);
    }
}
