package io.furlong.cli.run;

import io.furlong.control.PublishLane;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.torch.TorchArtifact;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Artifacts on their way to the engines. An artifact's tensors are freed once it, or a newer one of its registration, is in force. */
final class Artifacts implements AutoCloseable {
    private final PublishLane lane;
    /** By version; each inner map is guarded by itself. */
    private final Map<RegistrationId, NavigableMap<Long, TorchArtifact>> open = new ConcurrentHashMap<>();

    Artifacts(PublishLane lane) {
        this.lane = lane;
    }

    /** Publishes as soon as the lane is free. */
    void submit(TorchArtifact artifact) {
        NavigableMap<Long, TorchArtifact> own = open.computeIfAbsent(artifact.stamp().registration(), r -> new TreeMap<>());
        synchronized (own) {
            own.put(artifact.stamp().version(), artifact);
        }
        lane.submit(artifact);
    }

    void inForce(PolicyStamp stamp) {
        NavigableMap<Long, TorchArtifact> own = open.getOrDefault(stamp.registration(), new TreeMap<>());
        synchronized (own) {
            NavigableMap<Long, TorchArtifact> done = own.headMap(stamp.version(), true);
            done.values().forEach(TorchArtifact::close);
            done.clear();
        }
    }

    /** Its lane is idle or dropped: nothing of it is wanted any more. */
    void forget(RegistrationId registration) {
        NavigableMap<Long, TorchArtifact> own = open.remove(registration);
        if (own != null) {
            synchronized (own) {
                own.values().forEach(TorchArtifact::close);
            }
        }
    }

    @Override
    public void close() {
        open.keySet().forEach(this::forget);
    }
}
