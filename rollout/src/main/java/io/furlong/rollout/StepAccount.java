package io.furlong.rollout;

import io.furlong.core.Cursor;
import io.furlong.core.Group;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.RegistrationId;
import io.furlong.core.Sample;
import java.util.List;

/**
 * What a step will have used, once it is committed: everything of {@link io.furlong.core.StepCommit} that the rollout knows.
 *
 * @param step            optimizer steps taken with this one
 * @param groups          that the step trains, in the order they were collected
 * @param ledger          as it will be: these groups TRAINED
 * @param cursor          as it will be: these rows finished
 * @param generatedTokens response tokens of all attempts since registration
 * @param trainedTokens   response tokens trained since registration, this step's included
 */
public record StepAccount(String adapter, RegistrationId registration, long step, List<Group> groups, LedgerSnapshot ledger,
                          Cursor cursor, long generatedTokens, long trainedTokens) {
    public StepAccount {
        groups = List.copyOf(groups);
    }

    public double meanReward() {
        return groups.stream().mapToDouble(Group::meanReward).average().orElse(0);
    }

    /** Mean response length in tokens. */
    public double meanLength() {
        return groups.stream().flatMap(g -> g.samples().stream()).mapToInt(s -> s.responseIds().length).average().orElse(0);
    }

    /** Age of the oldest group in optimizer steps. */
    public long maxAge() {
        return groups.stream().mapToLong(g -> g.ageAt(step - 1)).max().orElse(0);
    }

    public double meanAge() {
        return groups.stream().mapToLong(g -> g.ageAt(step - 1)).average().orElse(0);
    }

    /** Groups whose advantages are all exactly 0. */
    public long zeroVarianceGroups() {
        return groups.stream().filter(Group::zeroVariance).count();
    }

    static long trainedTokens(List<Group> groups) {
        return groups.stream().flatMap(g -> g.samples().stream()).mapToLong(Sample::trainedTokens).sum();
    }
}
