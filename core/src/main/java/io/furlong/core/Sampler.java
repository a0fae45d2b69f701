package io.furlong.core;

/** One request in, tokens and log-probs out. Blocks; called on virtual threads. */
public interface Sampler {
    /** @throws SamplerException with the kind of failure; an aborted response is {@link SamplerException.Kind#ABORTED}, never a result */
    SampleResult sample(SampleRequest request) throws SamplerException, InterruptedException;

    /**
     * Aborts every open request of a registration, on every engine, by exact request id, and returns when each call has
     * returned or been written off after its deadline. No request of it is sent afterwards.
     */
    void abort(RegistrationId registration);
}
