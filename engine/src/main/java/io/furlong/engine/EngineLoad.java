package io.furlong.engine;

/**
 * How busy an engine is.
 *
 * @param usedTokens          positions held by running sequences and by the prefix cache
 * @param tokensPerSecond     output tokens, lately
 * @param adaptersInBatch     distinct adapters of running sequences
 * @param cacheHitRate        of all prompt tokens so far, the share that was not computed for its request
 */
public record EngineLoad(int running, int waiting, long usedTokens, long maxTokens, int maxRunning, double tokensPerSecond, int adaptersInBatch,
                         int maxAdaptersInBatch, double cacheHitRate) {
    public boolean idle() {
        return running == 0 && waiting == 0;
    }
}
