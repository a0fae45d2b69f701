package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.FinishReason;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.Sampler;
import io.furlong.core.SamplerException;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** An engine in memory that records what it is asked; the answer is the prompt's row, which is right, or what {@link Behaviour} says. */
class RecordingSampler implements Sampler {
    /** What the engine does about a request. */
    interface Behaviour {
        String answer(SampleRequest request, int number) throws SamplerException, InterruptedException;
    }

    /** A request as it was sent. */
    record Sent(String adapter, PolicyStamp stamp, int[] inputIds, double temperature, long seed) {}

    static final Behaviour RIGHT = (request, number) -> String.valueOf(request.inputIds()[1] - 10);

    final Collection<Sent> sent = new ConcurrentLinkedQueue<>();
    final Collection<String> complaints = new ConcurrentLinkedQueue<>();
    final Set<RegistrationId> aborted = ConcurrentHashMap.newKeySet();
    final Set<RegistrationId> gone = ConcurrentHashMap.newKeySet();
    final AtomicInteger inFlight = new AtomicInteger();
    final AtomicInteger mostInFlight = new AtomicInteger();
    boolean record = true;
    private final AtomicInteger count = new AtomicInteger();
    private final TestRegistry registry;
    private final Behaviour behaviour;

    RecordingSampler(TestRegistry registry, Behaviour behaviour) {
        this.registry = registry;
        this.behaviour = behaviour;
    }

    @Override
    public SampleResult sample(SampleRequest r) throws SamplerException, InterruptedException {
        boolean wasGone = gone.contains(r.stamp().registration());
        if (!r.wanted().getAsBoolean()) {
            throw new SamplerException(SamplerException.Kind.UNWANTED, "unwanted");
        }
        if (wasGone) {
            complaints.add("request for " + r.adapter() + " after it was deregistered");
        }
        Adapter a = registry.snapshot().find(r.adapter()).orElse(null);
        if (a != null && a.registration().equals(r.stamp().registration()) && r.stamp().version() > a.inForce().orElseThrow().version()) {
            complaints.add("request under version " + r.stamp().version() + ", which is not in force yet");
        }
        if (record) {
            sent.add(new Sent(r.adapter(), r.stamp(), r.inputIds(), r.sampling().temperature(), r.seed()));
        }
        mostInFlight.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
        try {
            return answer(r.stamp(), behaviour.answer(r, count.incrementAndGet()));
        } finally {
            inFlight.decrementAndGet();
        }
    }

    static SampleResult answer(PolicyStamp stamp, String text) {
        int[] ids = text.chars().toArray();
        float[] logProbs = new float[ids.length];
        java.util.Arrays.fill(logProbs, -0.5f);
        return new SampleResult(ids, logProbs, text, FinishReason.STOP, 2, 0, List.of(), "engine of v" + stamp.version());
    }

    @Override
    public void abort(RegistrationId registration) {
        aborted.add(registration);
    }
}
