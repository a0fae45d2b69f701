package io.furlong.cli.run;

import io.furlong.cli.config.EngineConfig;
import io.furlong.cli.run.RunObserver.PublishMove;
import io.furlong.core.AdapterArtifact;
import io.furlong.core.AdapterPublisher;
import io.furlong.core.PolicyStamp;
import io.furlong.core.PublishException;
import io.furlong.core.PublishException.Blame;
import io.furlong.engine.AdapterRefused;
import io.furlong.engine.Engine;
import io.furlong.torch.TorchArtifact;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.SamplingParams;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes to the engine in this process: the tensors are handed over as an immutable copy, without a file in between. The canary compares
 * what the engine says of the probe tokens under the new name with what the trainer says; both compute in float32 on the same base, so
 * anything above rounding means that the adapter is not applied as it was trained.
 */
final class DirectPublisher implements AdapterPublisher {
    private static final Logger LOG = LoggerFactory.getLogger(DirectPublisher.class);
    /** Largest |Δ log-prob| between engine and trainer that rounding explains. */
    private static final double ROUNDING = 1e-4;

    private final Engine engine;
    private final EngineConfig.Publish publish;
    private final int places;
    private final RunObserver observer;

    DirectPublisher(Engine engine, EngineConfig.Publish publish, int places, RunObserver observer) {
        this.engine = engine;
        this.publish = publish;
        this.places = places;
        this.observer = observer;
    }

    @Override
    public void publish(AdapterArtifact artifact) throws PublishException, InterruptedException {
        TorchArtifact trained = (TorchArtifact) artifact;
        String name = artifact.stamp().servedName();
        try {
            observer.publishing(PublishMove.LOADING, artifact.stamp());
            switch (publish) {
                case VERSIONED -> loadOnce(trained);
                case SLOT -> engine.upsert(name, trained.weights(), artifact.stamp().version());
            }
            observer.publishing(PublishMove.LOADED, artifact.stamp());
            observer.publishing(PublishMove.PROBING, artifact.stamp());
            float[] served = score(name, artifact.probeTokens());
            observer.publishing(PublishMove.PROBED, artifact.stamp());
            double apart = apart(served, artifact.probeLogProbs());
            if (!(apart < ROUNDING)) {
                engine.unload(name);
                throw new PublishException(Blame.ADAPTER, String.format(Locale.ROOT,
                        "version %d: the engine's log-probs of the probe are up to %.2g from the trainer's, more than rounding (%.0g)",
                        artifact.stamp().version(), apart, ROUNDING));
            }
        } catch (AdapterRefused | RejectedRequest e) {
            throw new PublishException(Blame.ENGINES, e.getMessage(), e);
        }
    }

    /** A version that is pushed again after a failure further on may be there already: the same bytes, which its digest proves. */
    private void loadOnce(TorchArtifact artifact) throws AdapterRefused {
        PolicyStamp stamp = artifact.stamp();
        boolean there = engine.adapters().stream().anyMatch(a -> a.name().equals(stamp.servedName()) && a.digest().equals(stamp.digest()));
        if (!there) {
            engine.load(stamp.servedName(), artifact.weights(), stamp.version());
        }
    }

    /** Log-probs of the probe tokens after the first, by prefill. */
    private float[] score(String name, int[] probe) throws RejectedRequest, InterruptedException {
        GenerateRequest ask = GenerateRequest.ofIds(probe, SamplingParams.builder().maxNewTokens(0).build()).withAdapter(name).withLogprobs(0, 0, List.of());
        float[] scores = engine.submit(ask).await().inputScores().logprobs();
        return Arrays.copyOfRange(scores, 1, scores.length);
    }

    private static double apart(float[] a, float[] b) {
        double most = a.length == b.length ? 0 : Double.POSITIVE_INFINITY;
        for (int i = 0; i < Math.min(a.length, b.length); i++) {
            double d = Math.abs(a[i] - b[i]);
            most = Double.isNaN(d) ? Double.POSITIVE_INFINITY : Math.max(most, d);
        }
        return most;
    }

    @Override
    public void release(PolicyStamp stamp) {
        if (publish == EngineConfig.Publish.SLOT) {
            return;
        }
        try {
            engine.unload(stamp.servedName());
        } catch (AdapterRefused e) {
            LOG.debug("{} was not loaded", stamp.servedName());
        }
    }

    @Override
    public int adapterPlaces() {
        return places;
    }
}
