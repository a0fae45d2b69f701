package io.furlong.cli.run;

import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.Sampler;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplerException.Kind;
import java.util.function.BooleanSupplier;

/**
 * Samples only while this process leads. A request that isn't sent for that reason is {@link Kind#UNAVAILABLE}, so its prompt is tried again: the
 * lease may be renewed yet.
 */
record LeaderSampler(Sampler sampler, BooleanSupplier mayAct) implements Sampler {
    @Override
    public SampleResult sample(SampleRequest r) throws SamplerException, InterruptedException {
        BooleanSupplier wanted = () -> mayAct.getAsBoolean() && r.wanted().getAsBoolean();
        try {
            return sampler.sample(new SampleRequest(r.adapter(), r.stamp(), r.inputIds(), r.sampling(), r.seed(), r.affinity(), r.deadline(), wanted));
        } catch (SamplerException e) {
            if (e.kind() == Kind.UNWANTED && !mayAct.getAsBoolean() && r.wanted().getAsBoolean()) {
                throw new SamplerException(Kind.UNAVAILABLE, "adapter '" + r.adapter() + "': nothing is sent while another control plane may lead", e);
            }
            throw e;
        }
    }

    @Override
    public void abort(RegistrationId registration) {
        sampler.abort(registration);
    }
}
