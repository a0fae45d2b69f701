package io.furlong.core;

/** Brings versions into force on the engines, and takes away those that nothing needs. */
public interface AdapterPublisher {
    /**
     * Loads the artifact on every ready engine and proves that it is applied. Returns when every remaining member of the
     * publish set, at least one, has acknowledged and passed. Calls for one registration come one at a time.
     *
     * @throws PublishException when the version could not come into force; the old one stays in force
     */
    void publish(AdapterArtifact artifact) throws PublishException, InterruptedException;

    /** Says that nothing pins this version any more and it is not in force: it may be unloaded. Never blocks on an engine. */
    void release(PolicyStamp stamp);

    /** How many adapters fit on the engines at once; registration checks against it. */
    int adapterPlaces();
}
