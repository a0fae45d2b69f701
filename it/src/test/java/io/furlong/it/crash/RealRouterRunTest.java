package io.furlong.it.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.furlong.cli.report.RunRecord;
import io.furlong.cli.report.RunSummary;
import io.furlong.cli.run.TrainingRun;
import io.furlong.core.AdapterState;
import io.furlong.core.RegistryView;
import io.furlong.it.crash.Front.Call;
import io.furlong.sglang.testing.RouterProcess;
import io.furlong.wire.WireJson;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A whole run whose engines are processes behind SGLang's own router, to which this run is a stranger: one engine dies, another is added,
 * by the operator and not by the run.
 */
@Timeout(300)
class RealRouterRunTest {
    private static final Map<String, Integer> STEPS = Map.of("sort", 12, "upper", 12);
    private static final int SPARE = 3;

    @TempDir
    Path directory;

    @BeforeEach
    void hasRouter() {
        assumeTrue(RouterProcess.command().isPresent(), "FURLONG_TEST_ROUTER does not say how to start the router of the PyPI package sglang-router");
    }

    @Test
    void aRunCompletesThroughItAndItsLedgerAddsUpThoughAnEngineDiesAndAnotherIsAdded() throws Exception {
        try (Engines engines = Engines.start(Launcher.shared(), 4, new Bystander());
                RouterProcess router = RouterProcess.start(RouterProcess.command().orElseThrow(), urls(engines).subList(0, SPARE), directory.resolve("router.log"))) {
            SmallRun world = SmallRun.routed(directory.resolve("run"), STEPS, router.url()).write();
            CountDownLatch underWay = new CountDownLatch(1);
            RunSummary summary;
            try (RunRecord record = RunRecord.in(directory.resolve("record"), InstantSource.system(), List.of());
                    TrainingRun run = TrainingRun.open(SmallRun.read(world.file()), record, TrainingRun.Stop.WHEN_ALL_ENDED, InstantSource.system());
                    ExecutorService operator = Executors.newVirtualThreadPerTaskExecutor();
                    RegistryView.Subscription _ = run.registry().onChange(s -> s.find("sort").filter(a -> a.step() >= 2).ifPresent(a -> underWay.countDown()))) {
                Future<Integer> told = operator.submit(() -> {
                    underWay.await();
                    engines.kill(0);
                    return add(router.url(), urls(engines).get(SPARE));
                });
                summary = run.run();
                assertThat(told.get()).as("the router's answer to a new worker").isBetween(200, 299);
            }

            assertThat(summary.adapters()).hasSize(2).allSatisfy(a -> {
                assertThat(a.state()).as(a.reason()).isEqualTo(AdapterState.COMPLETED);
                assertThat(a.steps()).isEqualTo(12);
                assertThat(a.groups().open()).as("attempts that have not ended; those that have add up, or there were no ledger").isZero();
                assertThat(a.groups().trained()).isEqualTo(12 * SmallRun.GROUPS);
                assertThat(a.logprobGapMax()).isLessThan(5e-5);
                assertThat(a.maxStalenessSeen()).isBetween(0, SmallRun.STALENESS);
            });
            assertThat(engines.fronts()).as("every engine had its share, the one that was added too").allSatisfy(f -> assertThat(f.served()).isNotEmpty());
        }
    }

    private static List<URI> urls(Engines engines) {
        return engines.fronts().stream().map(Front::url).toList();
    }

    private static int add(URI router, URI worker) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest ask = HttpRequest.newBuilder(URI.create(router + "/workers")).header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(WireJson.write(Map.of("url", worker.toString())))).build();
            return client.send(ask, HttpResponse.BodyHandlers.discarding()).statusCode();
        }
    }

    /** Lets every call pass. */
    private static final class Bystander implements Front.Watcher {
        @Override
        public void before(Call call, String name) {}

        @Override
        public void after(Call call, String name) {}
    }
}
