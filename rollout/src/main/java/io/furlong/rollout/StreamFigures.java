package io.furlong.rollout;

import io.furlong.core.Group;
import io.furlong.core.Sample;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The running figures of one stream. Tokens and requests are counted by the threads that see them; the rest is guarded by the
 * lock of {@link Streams}.
 */
final class StreamFigures {
    private static final double RECENT = 1.0 / 16;
    private static final int WINDOW_SECONDS = 10;

    private final InstantSource clock;
    private final long startedAt;
    private final AtomicLong generatedTokens;
    private final AtomicInteger requestsInFlight = new AtomicInteger();
    private final long[] tokensInSecond = new long[WINDOW_SECONDS + 1];
    private final long[] second = new long[WINDOW_SECONDS + 1];
    private long trainedTokens;
    private double recentReward = Double.NaN;
    private double recentLength = Double.NaN;
    private long trainedSamples;
    private long trainedLength;
    private long staleSamples;
    private long staleLength;
    private int constantSteps;

    StreamFigures(InstantSource clock, long generatedTokens, long trainedTokens) {
        this.clock = clock;
        this.startedAt = clock.instant().getEpochSecond();
        this.generatedTokens = new AtomicLong(generatedTokens);
        this.trainedTokens = trainedTokens;
    }

    void sent() {
        requestsInFlight.incrementAndGet();
    }

    void answered(int tokens) {
        requestsInFlight.decrementAndGet();
        generatedTokens.addAndGet(tokens);
        long now = clock.instant().getEpochSecond();
        synchronized (second) {
            int i = (int) (now % second.length);
            if (second[i] != now) {
                second[i] = now;
                tokensInSecond[i] = 0;
            }
            tokensInSecond[i] += tokens;
        }
    }

    void finished(Group g) {
        double length = g.samples().stream().mapToInt(s -> s.responseIds().length).average().orElse(0);
        recentReward = Double.isNaN(recentReward) ? g.meanReward() : recentReward + RECENT * (g.meanReward() - recentReward);
        recentLength = Double.isNaN(recentLength) ? length : recentLength + RECENT * (length - recentLength);
    }

    void trained(List<Group> groups) {
        trainedTokens += StepAccount.trainedTokens(groups);
        double first = groups.getFirst().samples().getFirst().reward();
        boolean constant = true;
        for (Group g : groups) {
            for (Sample s : g.samples()) {
                trainedSamples++;
                trainedLength += s.responseIds().length;
                constant &= s.reward() == first;
            }
        }
        constantSteps = constant ? constantSteps + 1 : 0;
    }

    void stale(Group g) {
        for (Sample s : g.samples()) {
            staleSamples++;
            staleLength += s.responseIds().length;
        }
    }

    long generatedTokens() {
        return generatedTokens.get();
    }

    long trainedTokens() {
        return trainedTokens;
    }

    int requestsInFlight() {
        return requestsInFlight.get();
    }

    /** Over the full seconds of the window that the stream has lived through. */
    double tokensPerSecond() {
        long now = clock.instant().getEpochSecond();
        long sum = 0;
        synchronized (second) {
            for (int i = 0; i < second.length; i++) {
                if (second[i] < now && second[i] >= now - WINDOW_SECONDS) {
                    sum += tokensInSecond[i];
                }
            }
        }
        return sum / (double) Math.clamp(now - startedAt, 1, WINDOW_SECONDS);
    }

    double recentReward() {
        return recentReward;
    }

    double recentLength() {
        return recentLength;
    }

    double trainedLength() {
        return trainedSamples == 0 ? Double.NaN : (double) trainedLength / trainedSamples;
    }

    double staleLength() {
        return staleSamples == 0 ? Double.NaN : (double) staleLength / staleSamples;
    }

    int constantSteps() {
        return constantSteps;
    }
}
