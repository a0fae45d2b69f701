package io.furlong.control;

import static io.furlong.control.Fixtures.commit;
import static io.furlong.control.Fixtures.stamp;
import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.store.Stores;
import io.furlong.core.AdapterArtifact;
import io.furlong.core.AdapterPublisher;
import io.furlong.core.AdapterState;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PublishException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class PublishLaneTest {
    private final Store store = Stores.memory();
    private final AdapterRegistry registry = Fixtures.registry(store, Fixtures.limits(4), new Fixtures.Clock());
    private final Engines engines = new Engines();
    private final PublishLane lane = new PublishLane(engines, registry, failures -> Duration.ofMillis(1), new PublishLane.Listener() {});

    @AfterEach
    void close() {
        lane.close();
        store.close();
    }

    @Test
    void a_version_comes_into_force_after_the_publisher_returned() throws Exception {
        engines.gate.release(100);
        Registration r = registry.register(Fixtures.request("a"));
        lane.submit(committed(r, 0));
        assertThat(lane.awaitIdle(r.id(), Duration.ofSeconds(20))).isTrue();
        assertThat(registry.snapshot().find("a").orElseThrow().state()).isEqualTo(AdapterState.ACTIVE);
        assertThat(engines.published).containsExactly(1L);
    }

    @Test
    void publishes_of_one_adapter_are_serial_and_the_newest_replaces_the_one_that_waits() throws Exception {
        Registration r = registry.register(Fixtures.request("a"));
        lane.submit(committed(r, 0));
        assertThat(engines.started.poll(20, TimeUnit.SECONDS)).isEqualTo(1L);
        lane.submit(committed(r, 1));
        lane.submit(committed(r, 2));
        lane.submit(committed(r, 3));
        engines.gate.release(100);
        assertThat(lane.awaitIdle(r.id(), Duration.ofSeconds(20))).isTrue();
        assertThat(engines.published).containsExactly(1L, 4L);
        assertThat(engines.most.get()).isEqualTo(1);
        assertThat(store.versions(r.id()).stream().map(VersionRow::state))
                .containsExactly(VersionRow.State.SUPERSEDED, VersionRow.State.SUPERSEDED, VersionRow.State.SUPERSEDED, VersionRow.State.IN_FORCE);
    }

    @Test
    void one_adapter_never_waits_for_another() throws Exception {
        Registration a = registry.register(Fixtures.request("a"));
        Registration b = registry.register(Fixtures.request("b"));
        engines.stuck = "a";
        lane.submit(committed(a, 0));
        engines.gate.release(1);
        lane.submit(committed(b, 0));
        assertThat(lane.awaitIdle(b.id(), Duration.ofSeconds(20))).isTrue();
        assertThat(registry.snapshot().find("b").orElseThrow().state()).isEqualTo(AdapterState.ACTIVE);
        assertThat(registry.snapshot().find("a").orElseThrow().state()).isEqualTo(AdapterState.PENDING);
    }

    @Test
    void a_failed_push_keeps_the_old_version_in_force_and_is_tried_again() throws Exception {
        engines.gate.release(100);
        Registration r = registry.register(Fixtures.request("a"));
        lane.submit(committed(r, 0));
        assertThat(lane.awaitIdle(r.id(), Duration.ofSeconds(20))).isTrue();
        engines.failures.set(3);
        engines.whileFailing = () -> assertThat(registry.snapshot().find("a").orElseThrow().inForce().orElseThrow().version()).isEqualTo(1);
        lane.submit(committed(r, 1));
        assertThat(lane.awaitIdle(r.id(), Duration.ofSeconds(20))).isTrue();
        assertThat(engines.published).containsExactly(1L, 2L);
        assertThat(registry.snapshot().find("a").orElseThrow().inForce().orElseThrow().version()).isEqualTo(2);
    }

    @Test
    void an_adapter_that_every_engine_refuses_fails() throws Exception {
        engines.gate.release(100);
        engines.blame = PublishException.Blame.ADAPTER;
        engines.failures.set(1);
        Registration r = registry.register(Fixtures.request("a"));
        lane.submit(committed(r, 0));
        assertThat(lane.awaitIdle(r.id(), Duration.ofSeconds(20))).isTrue();
        assertThat(registry.live("a").orElseThrow().failure().orElseThrow().reason()).contains("refused by the engines");
    }

    @Test
    void dropping_ends_a_publish_that_hangs_and_nothing_comes_into_force_after_it() throws Exception {
        Registration r = registry.register(Fixtures.request("a"));
        lane.submit(committed(r, 0));
        assertThat(engines.started.poll(20, TimeUnit.SECONDS)).isEqualTo(1L);
        lane.drop(r.id());
        assertThat(lane.awaitIdle(r.id(), Duration.ZERO)).isTrue();
        assertThat(registry.snapshot().find("a").orElseThrow().state()).isEqualTo(AdapterState.PENDING);
    }

    private AdapterArtifact committed(Registration r, long step) throws Exception {
        PolicyStamp stamp = stamp(r.name(), r.id(), registry.nextVersion(r.id()), step);
        registry.commit(commit(r.name(), stamp));
        return new Artifact(r.name(), stamp);
    }

    private record Artifact(String adapter, PolicyStamp stamp) implements AdapterArtifact {
        @Override
        public int rank() {
            return 8;
        }

        @Override
        public List<String> targets() {
            return List.of("q_proj");
        }

        @Override
        public int[] probeTokens() {
            return new int[] {1, 2};
        }

        @Override
        public float[] probeLogProbs() {
            return new float[1];
        }

        @Override
        public float[] probeBaseLogProbs() {
            return new float[1];
        }

        @Override
        public Path materialise() {
            return Path.of("/x");
        }
    }

    /** Engines that take a version when the gate lets them. */
    private static final class Engines implements AdapterPublisher {
        final Semaphore gate = new Semaphore(0);
        final LinkedBlockingQueue<Long> started = new LinkedBlockingQueue<>();
        final List<Long> published = new CopyOnWriteArrayList<>();
        final AtomicInteger inside = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();
        final AtomicInteger failures = new AtomicInteger();
        volatile PublishException.Blame blame = PublishException.Blame.ENGINES;
        volatile Runnable whileFailing = () -> { };
        volatile String stuck = "";

        @Override
        public void publish(AdapterArtifact artifact) throws PublishException, InterruptedException {
            started.add(artifact.stamp().version());
            if (artifact.adapter().equals(stuck)) {
                new Semaphore(0).acquire();
            }
            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
            try {
                gate.acquire();
                if (failures.getAndUpdate(n -> Math.max(0, n - 1)) > 0) {
                    whileFailing.run();
                    throw new PublishException(blame, "no");
                }
                published.add(artifact.stamp().version());
            } finally {
                inside.decrementAndGet();
            }
        }

        @Override
        public void release(PolicyStamp stamp) {}

        @Override
        public int adapterPlaces() {
            return 100;
        }
    }
}
