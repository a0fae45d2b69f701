package io.furlong.rollout;

import io.furlong.core.Generator;
import io.furlong.core.Sample;
import io.furlong.core.SampleResult;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplingConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** {@code single_turn}: one request a sample, all n at once. If one fails the others are interrupted and waited for. */
public final class SingleTurn implements Generator {
    @Override
    public String name() {
        return "single_turn";
    }

    @Override
    public List<Sample> generate(Request request) throws SamplerException, InterruptedException {
        if (request.n() == 1) {
            return List.of(sample(request, 0));
        }
        List<FutureTask<Sample>> tasks = new ArrayList<>(request.n());
        List<Thread> threads = new ArrayList<>(request.n());
        for (int i = 0; i < request.n(); i++) {
            int index = i;
            FutureTask<Sample> task = new FutureTask<>(() -> sample(request, index));
            tasks.add(task);
            threads.add(Thread.startVirtualThread(task));
        }
        try {
            List<Sample> samples = new ArrayList<>(request.n());
            for (FutureTask<Sample> t : tasks) {
                samples.add(t.get());
            }
            return samples;
        } catch (ExecutionException e) {
            stop(threads);
            switch (e.getCause()) {
                case SamplerException s -> throw s;
                case RuntimeException r -> throw r;
                case Error err -> throw err;
                default -> throw new IllegalStateException(e.getCause());
            }
        } catch (InterruptedException e) {
            stop(threads);
            throw e;
        }
    }

    /** Every call has returned when this does, so nothing of the group is at an engine any more. */
    private static void stop(List<Thread> threads) throws InterruptedException {
        threads.forEach(Thread::interrupt);
        for (Thread t : threads) {
            t.join();
        }
    }

    private static Sample sample(Request request, int index) throws SamplerException, InterruptedException {
        int[] ids = request.prompt().tokenIds();
        SamplingConfig sampling = request.config().sampling();
        SampleResult r = request.sampler().sample(index, 0, ids, sampling);
        byte[] mask = new byte[r.tokenIds().length];
        Arrays.fill(mask, (byte) 1);
        String text = r.text().isEmpty() ? request.tokenizer().decode(r.tokenIds()) : r.text();
        return new Sample(index, ids, r.tokenIds(), r.logProbs(), mask, text, r.finish(), sampling.temperature(), 0,
                request.stamp(), r.spans(), r.engine());
    }
}
