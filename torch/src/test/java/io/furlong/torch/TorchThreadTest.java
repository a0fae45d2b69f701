package io.furlong.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Work handed to a torch thread runs there, in order, and leaves nothing behind. */
class TorchThreadTest {

    @Test
    void tasksRunInOrderOnOnePlatformThread() {
        try (TorchThread thread = new TorchThread("torch-test")) {
            StringBuilder order = new StringBuilder();
            List<CompletableFuture<Thread>> done = IntStream.range(0, 10).mapToObj(i -> thread.submit(() -> {
                order.append(i);
                return Thread.currentThread();
            })).toList();
            assertThat(done).allSatisfy(f -> assertThat(f.join()).satisfies(t -> assertThat(t.isVirtual()).isFalse()).isSameAs(done.getFirst().join()));
            assertThat(order).hasToString("0123456789");
            assertThat(thread.call(() -> thread.call(() -> "within"))).isEqualTo("within");
        }
    }

    @Test
    void whatATaskMakesIsFreedWhenItEndsOrFails() {
        try (TorchThread thread = new TorchThread("torch-test")) {
            thread.run(() -> torch.zeros(3));
            long before = Pointer.totalCount();
            for (int i = 0; i < 100; i++) {
                thread.run(() -> torch.zeros(1000).add(torch.zeros(1000)));
                assertThatThrownBy(() -> thread.run(() -> torch.zeros(2).add(torch.zeros(3)))).isInstanceOf(RuntimeException.class).hasMessageContaining("size");
            }
            // What tests before this one left to the garbage collector may go meanwhile.
            assertThat(Pointer.totalCount()).isLessThanOrEqualTo(before);
        }
    }

    @Test
    void aClosedThreadFinishesWhatIsQueuedAndRefusesMore() {
        TorchThread thread = new TorchThread("torch-test");
        CompletableFuture<Integer> queued = thread.submit(() -> 7);
        thread.close();
        thread.close();
        assertThat(queued).isCompletedWithValue(7);
        assertThatThrownBy(() -> thread.submit(() -> 8)).isInstanceOf(RejectedExecutionException.class).hasMessage("torch thread torch-test is closed");
    }
}
