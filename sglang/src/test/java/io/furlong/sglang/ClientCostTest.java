package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.OperatingSystemMXBean;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplingConfig;
import io.furlong.sglang.testing.PrebuiltServer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a request costs here, the server being a process of its own that answers with ready-made bytes: 256 tokens and their log-probs. */
@Tag("slow")
class ClientCostTest {
    private static final double MICROSECONDS = 150;
    private static final double KILOBYTES = 32;

    private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private static SampleRequest request(RegistrationId registration, int i) {
        PolicyStamp stamp = new PolicyStamp(registration, 1, 0, "a".repeat(64), "a.0@v1");
        return new SampleRequest("a", stamp, new int[64], SamplingConfig.at(1, 256), i, "g" + i / 8, Duration.ofMinutes(5), () -> true);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 64, 1024, 8192})
    void aRequestIsCheap(int inFlight) throws Exception {
        Process server = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(), "-Xmx1g", "-cp", System.getProperty("java.class.path"), PrebuiltServer.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8));
                OutputStream in = server.getOutputStream();
                Http http = Http.open();
                Fleet fleet = Fleet.direct(http, List.of(URI.create(out.readLine())), FleetConfig.DIRECT.withPublish(FleetConfig.Publish.ELSEWHERE), Duration.ofSeconds(60));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            SglangSampler sampler = new SglangSampler(fleet, SamplerLimits.DEFAULT.withAttempts(50));
            RegistrationId registration = RegistrationId.random();
            int total = Math.max(20_000, 4 * inFlight);
            load(sampler, registration, threads, inFlight, total);
            long cpu = system.getProcessCpuTime();
            long wall = System.nanoTime();
            load(sampler, registration, threads, inFlight, total);
            double micros = (system.getProcessCpuTime() - cpu) / 1e3 / total;
            double rate = total / ((System.nanoTime() - wall) / 1e9);

            double before = usedKilobytes();
            command(in, 'h');
            List<Future<SampleResult>> held = new ArrayList<>();
            for (int i = 0; i < inFlight; i++) {
                int n = i;
                held.add(threads.submit(() -> sampler.sample(request(registration, n))));
            }
            fleet.roster().await(() -> fleet.engines().getFirst().inFlight() == inFlight, Duration.ofSeconds(1));
            double kilobytes = (usedKilobytes() - before) / inFlight;
            command(in, 'g');
            for (Future<SampleResult> one : held) {
                one.get();
            }
            System.out.printf("%d in flight: %.0f requests/s, %.0f µs CPU a request, %.1f KB a request in flight%n", inFlight, rate, micros, kilobytes);
            if (inFlight > 1) {
                assertThat(micros).isLessThanOrEqualTo(MICROSECONDS);
                assertThat(kilobytes).isLessThanOrEqualTo(KILOBYTES);
            }
        } finally {
            server.destroyForcibly();
        }
    }

    private static void command(OutputStream in, char c) throws Exception {
        in.write(c);
        in.flush();
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
}
