package io.furlong.core;

import java.util.List;

/**
 * The n samples of one prompt, made by one attempt: what a step is built from.
 *
 * @param adapter      the adapter's name
 * @param registration the registration it was dispatched for
 * @param dispatch     rises by one with each attempt of the registration; the order in which groups were admitted
 * @param prompt       the row
 * @param samples      all of them finished and scored
 * @param stamp        the weights it was pinned to when admitted
 * @param policyStep   the step of the oldest weights that made any of its tokens; its age in step S→S+1 is S − policyStep
 */
public record Group(String adapter, RegistrationId registration, long dispatch, Prompt prompt, List<Sample> samples,
                    PolicyStamp stamp, long policyStep) {
    public Group {
        samples = List.copyOf(samples);
        if (samples.isEmpty()) {
            throw new IllegalArgumentException("adapter '" + adapter + "': a group needs at least one sample");
        }
        if (!stamp.registration().equals(registration)) {
            throw new IllegalArgumentException("adapter '" + adapter + "': group of registration " + registration
                    + " stamped by " + stamp.registration());
        }
    }

    /** Age in optimizer steps if trained while the adapter has taken {@code steps}. */
    public long ageAt(long steps) {
        return steps - policyStep;
    }

    /** Rewards in sample order, shape [n]. */
    public double[] rewards() {
        return samples.stream().mapToDouble(Sample::reward).toArray();
    }

    public double meanReward() {
        return samples.stream().mapToDouble(Sample::reward).average().orElseThrow();
    }

    /** True when every sample got the same reward, so that every advantage is exactly 0. */
    public boolean zeroVariance() {
        double first = samples.getFirst().reward();
        return samples.stream().allMatch(s -> s.reward() == first);
    }
}
