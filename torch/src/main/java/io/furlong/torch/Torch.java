package io.furlong.torch;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.global.torch;

/**
 * Loads libtorch and says how many threads it may use.
 *
 * <p>Two pools work for us and neither knows of the other: ATen's (OpenMP, a setting per OS thread) and OpenBLAS's (pthreads, one
 * setting per process). {@link #useThreads} sets both; each {@link TorchThread} picks the first up before its next task. With engine
 * and trainer in one process use 1: two BLAS threads make them 3-5 times slower when both work.
 *
 * <p>OpenMP's workers must sleep while they wait, or two threads are ten times slower than one. The launcher sets {@code OMP_WAIT_POLICY}; where
 * it did not, it is set here, before the library loads.
 */
public final class Torch {
    private static volatile int threads;

    static {
        if (System.getenv("OMP_WAIT_POLICY") == null) {
            waitPassively();
        }
        Loader.load(torch.class);
        useThreads(1);
    }

    private Torch() {}

    /** Sets the number of threads one torch operation may use, in ATen and in OpenBLAS. */
    public static void useThreads(int n) {
        if (n < 1) {
            throw new IllegalArgumentException("threads is " + n + ", must be at least 1");
        }
        openblas.blas_set_num_threads(n);
        threads = n;
        torch.set_num_threads(n);
    }

    /** Threads one torch operation may use. */
    public static int threads() {
        return threads;
    }

    /** Runs {@code body} without recording for autograd on this thread. */
    public static <T> T noGrad(Supplier<T> body) {
        try (NoGradGuard guard = new NoGradGuard()) {
            return body.get();
        }
    }

    /** Runs {@code body} without recording for autograd on this thread. */
    public static void noGrad(Runnable body) {
        try (NoGradGuard guard = new NoGradGuard()) {
            body.run();
        }
    }

    /** Makes sure that the natives are loaded with the settings above before the caller touches them. */
    static void ready() {}

    private static void waitPassively() {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor signature = FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
        try (Arena arena = Arena.ofConfined()) {
            int ignored = (int) linker.downcallHandle(linker.defaultLookup().findOrThrow("setenv"), signature)
                    .invokeExact(arena.allocateFrom("OMP_WAIT_POLICY"), arena.allocateFrom("PASSIVE"), 1);
        } catch (Throwable e) {
            throw new IllegalStateException("cannot set OMP_WAIT_POLICY=PASSIVE; set it in the environment", e);
        }
    }
}
