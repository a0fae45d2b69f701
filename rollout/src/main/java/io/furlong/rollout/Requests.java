package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistryView;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.Sampler;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplingConfig;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * The one door to the engines. A request carries its adapter and the weights it is pinned to, takes a place in the shared limit,
 * and is sent only if the adapter may still be sampled, which is asked before and after every wait.
 */
final class Requests {
    private final Sampler sampler;
    private final RegistryView registry;
    private final RequestLimit limit;
    private final Duration deadline;

    Requests(Sampler sampler, RegistryView registry, RequestLimit limit, Duration deadline) {
        this.sampler = sampler;
        this.registry = registry;
        this.limit = limit;
        this.deadline = deadline;
    }

    /** Places of the shared limit that a group or an evaluation holds already. */
    final class Places implements AutoCloseable {
        private final AtomicInteger left;

        private Places(int reserved) {
            left = new AtomicInteger(reserved);
        }

        private void take() throws InterruptedException {
            if (left.getAndUpdate(n -> Math.max(0, n - 1)) == 0) {
                limit.acquire();
            }
        }

        /** Gives back what was reserved and never used. */
        @Override
        public void close() {
            limit.release(left.getAndSet(0));
        }
    }

    Places places(int reserved) {
        return new Places(reserved);
    }

    /**
     * Sends one request and waits for its answer.
     *
     * @param open     false when nobody wants the answer any more
     * @param affinity requests with equal affinity should go to one engine
     */
    SampleResult send(AdapterStream stream, PolicyStamp stamp, int[] inputIds, SamplingConfig sampling, long seed, String affinity,
                      Places places, BooleanSupplier open) throws SamplerException, InterruptedException {
        BooleanSupplier wanted = () -> open.getAsBoolean()
                && registry.snapshot().find(stream.name(), stream.registration()).filter(Adapter::sampleable).isPresent();
        check(wanted, stream);
        places.take();
        try {
            check(wanted, stream);
            stream.figures().sent();
            int tokens = 0;
            try {
                SampleResult r = sampler.sample(new SampleRequest(stream.name(), stamp, inputIds, sampling, seed, affinity, deadline, wanted));
                tokens = r.tokenIds().length;
                checkTrainable(r);
                return r;
            } finally {
                stream.figures().answered(tokens);
            }
        } finally {
            limit.release(1);
        }
    }

    private static void check(BooleanSupplier wanted, AdapterStream stream) throws SamplerException {
        if (!wanted.getAsBoolean()) {
            throw new SamplerException(SamplerException.Kind.UNWANTED, "adapter '" + stream.name() + "' is no longer sampled");
        }
    }

    private static void checkTrainable(SampleResult r) throws SamplerException {
        if (r.tokenIds().length == 0) {
            throw new SamplerException(SamplerException.Kind.MALFORMED, "engine " + r.engine() + " returned no token");
        }
        for (float p : r.logProbs()) {
            if (!Float.isFinite(p)) {
                throw new SamplerException(SamplerException.Kind.MALFORMED, "engine " + r.engine() + " returned a log-prob of " + p);
            }
        }
    }
}
