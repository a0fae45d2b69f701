package io.furlong.bench;

import com.sun.management.OperatingSystemMXBean;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.Fleet;
import io.furlong.sglang.FleetConfig;
import io.furlong.sglang.Http;
import io.furlong.sglang.SamplerLimits;
import io.furlong.sglang.SglangSampler;
import io.furlong.sglang.testing.PrebuiltServer;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What a rollout request costs here: 256 tokens with their log-probs, from a server that is a process of its own and sends ready-made bytes.
 * CPU is that of this whole process, garbage collection and compilation included; memory is what the heap holds more, after a collection,
 * while the requests are out.
 */
final class ClientBench {
    private static final int PROMPT = 64;
    private static final int TOKENS = 256;
    /** Requests after which the compiler has nothing more to do. */
    private static final int WARM = 100_000;
    private static final double MICROSECONDS = 150;
    private static final double KILOBYTES = 32;

    private final int times;
    private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    ClientBench(int times) {
        this.times = times;
    }

    List<Figure> run() throws Exception {
        List<Figure> figures = new ArrayList<>();
        at(64, WARM);
        for (int inFlight : new int[] {1, 64, 1024, 8192}) {
            figures.addAll(at(inFlight, Math.max(20_000, 2 * inFlight)));
        }
        return figures;
    }

    private List<Figure> at(int inFlight, int total) throws Exception {
        try (ChildJvm server = new ChildJvm(PrebuiltServer.class, "-Xmx1g");
                Http http = Http.open();
                Fleet fleet = Fleet.direct(http, List.of(server.url()), FleetConfig.DIRECT.withPublish(FleetConfig.Publish.ELSEWHERE), Duration.ofSeconds(60));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            SglangSampler sampler = new SglangSampler(fleet, SamplerLimits.DEFAULT);
            RegistrationId registration = RegistrationId.random();
            load(sampler, registration, threads, inFlight, total);
            List<Double> rates = new ArrayList<>();
            List<Double> micros = new ArrayList<>();
            for (int i = 0; i < times; i++) {
                long cpu = system.getProcessCpuTime();
                long start = System.nanoTime();
                load(sampler, registration, threads, inFlight, total);
                rates.add(total / Repeat.seconds(start));
                micros.add((system.getProcessCpuTime() - cpu) / 1e3 / total);
            }
            List<Double> kilobytes = new ArrayList<>();
            for (int i = 0; i < times; i++) {
                kilobytes.add(held(server, sampler, registration, threads, inFlight));
            }
            String name = String.format(Locale.ROOT, "client, %,d in flight: ", inFlight);
            Figure memory = Figure.of(name + "memory a request", "KB", kilobytes);
            // A single request drowns in what else the process does.
            return List.of(Figure.of(name + "requests", "1/s", rates), Figure.of(name + "CPU a request", "µs", micros).atMost(MICROSECONDS),
                    inFlight == 1 ? memory : memory.atMost(KILOBYTES));
        }
    }

    /** KB of heap that each of so many requests holds while the server keeps them. */
    private static double held(ChildJvm server, SglangSampler sampler, RegistrationId registration, ExecutorService threads, int inFlight) throws Exception {
        double before = usedKilobytes();
        server.tell("hold " + inFlight);
        server.readLine();
        List<Future<SampleResult>> held = new ArrayList<>();
        for (int i = 0; i < inFlight; i++) {
            int n = i;
            held.add(threads.submit(() -> sampler.sample(request(registration, n))));
        }
        server.readLine();
        double kilobytes = (usedKilobytes() - before) / inFlight;
        server.tell("go");
        for (Future<SampleResult> one : held) {
            one.get();
        }
        return kilobytes;
    }

    private static double usedKilobytes() {
        System.gc();
        System.gc();
        Runtime r = Runtime.getRuntime();
        return (r.totalMemory() - r.freeMemory()) / 1024.0;
    }

    private static void load(SglangSampler sampler, RegistrationId registration, ExecutorService threads, int inFlight, int total) throws Exception {
        AtomicInteger next = new AtomicInteger();
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < inFlight; i++) {
            all.add(threads.submit(() -> {
                for (int n = next.getAndIncrement(); n < total; n = next.getAndIncrement()) {
                    sampler.sample(request(registration, n));
                }
                return true;
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
    }

    private static SampleRequest request(RegistrationId registration, int i) {
        PolicyStamp stamp = new PolicyStamp(registration, 1, 0, "a".repeat(64), "a.0@v1");
        return new SampleRequest("a", stamp, new int[PROMPT], SamplingConfig.at(1, TOKENS), i, "g" + i / 8, Duration.ofMinutes(5), () -> true);
    }
}
