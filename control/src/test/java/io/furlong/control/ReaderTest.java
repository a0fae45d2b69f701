package io.furlong.control;

import static io.furlong.control.Fixtures.limits;
import static io.furlong.control.Fixtures.registry;
import static io.furlong.control.Fixtures.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.store.Stores;
import io.furlong.core.Adapter;
import io.furlong.core.RegistrySnapshot;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReaderTest {
    private static final int READERS = 4;

    @Test
    void a_read_takes_no_lock_it_answers_while_a_writer_is_stuck() throws Exception {
        try (Store store = Stores.memory()) {
            AdapterRegistry registry = registry(store, limits(4), new Fixtures.Clock());
            Registration a = registry.register(request("a"));
            CountDownLatch inside = new CountDownLatch(1);
            CountDownLatch leave = new CountDownLatch(1);
            registry.onChange(s -> {
                inside.countDown();
                await(leave);
            });
            Thread writer = Thread.ofPlatform().start(() -> registry.accumulated(Map.of(a.id(), 2)));
            assertThat(inside.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(registry.snapshot().find("a").orElseThrow().accumulated()).isEqualTo(2);
            assertThat(registry.live("a").orElseThrow().accumulated()).isEqualTo(2);
            assertThat(registry.stopReached(a.id())).isEmpty();
            assertThat(registry.recovered()).hasSize(1);
            leave.countDown();
            writer.join();
        }
    }

    /** Many writers, many readers: every snapshot is whole, epochs rise, and slots are never shared. */
    @Test
    void every_snapshot_that_any_reader_ever_sees_is_consistent() throws Exception {
        try (Store store = Stores.memory(); ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            AdapterRegistry registry = registry(store, limits(6), new Fixtures.Clock());
            Semaphore changes = new Semaphore(0);
            AtomicBoolean stop = new AtomicBoolean();
            registry.onChange(s -> changes.release(READERS));
            List<Future<Integer>> readers = IntStream.range(0, READERS).mapToObj(i -> threads.submit(() -> {
                long last = -1;
                int seen = 0;
                while (!stop.get()) {
                    changes.acquire();
                    RegistrySnapshot s = registry.snapshot();
                    assertThat(s.epoch()).isGreaterThanOrEqualTo(last);
                    assertThat(s.all().stream().map(Adapter::slot).filter(x -> x >= 0)).doesNotHaveDuplicates().allMatch(x -> x < 6);
                    assertThat(s.all().stream().filter(a -> a.sampleable() && a.inForce().isEmpty())).isEmpty();
                    last = s.epoch();
                    seen++;
                }
                return seen;
            })).toList();
            List<Future<?>> writers = IntStream.range(0, 8).<Future<?>>mapToObj(i -> threads.submit(() -> {
                for (int n = 0; n < 15; n++) {
                    try {
                        Registration r = Fixtures.active(registry, "w" + i);
                        Fixtures.step(registry, r, 1);
                        Fixtures.end(registry, r);
                    } catch (RefusedException full) {
                        assertThat(full.kind()).isEqualTo(RefusedException.Kind.FULL);
                    }
                }
                return null;
            })).toList();
            try {
                for (Future<?> w : writers) {
                    w.get();
                }
            } finally {
                stop.set(true);
                changes.release(READERS);
            }
            for (Future<Integer> r : readers) {
                assertThat(r.get()).isPositive();
            }
            assertThat(registry.live()).isEmpty();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
