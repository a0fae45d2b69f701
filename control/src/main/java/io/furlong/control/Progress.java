package io.furlong.control;

import io.furlong.core.PolicyStamp;
import java.util.Optional;

/**
 * How far a registration has come, as of its last commit.
 *
 * @param startStep       the step it started at: 0, or where it resumed
 * @param step            optimizer steps taken
 * @param targetStep      the step at which it ends; {@code Integer.MAX_VALUE} when only other rules end it
 * @param lastVersion     the highest version number ever given, committed or not; 0 when none was
 * @param prepared        committed and not in force yet; the newest one
 * @param rows            rows of the dataset after filtering; 0 until known
 * @param finishedRows    rows trained, filtered or given up
 * @param generatedTokens response tokens of all attempts
 * @param trainedTokens   response tokens trained
 * @param targetHeld      evaluations running that have met the reward target
 * @param evaluatedVersion the highest version whose evaluation was counted; 0 when none was
 */
public record Progress(long startStep, long step, long targetStep, long lastVersion, Optional<PolicyStamp> inForce,
                       Optional<PolicyStamp> prepared, long rows, long finishedRows, long generatedTokens, long trainedTokens,
                       int targetHeld, long evaluatedVersion) {
    public static Progress start(long targetStep) {
        return new Progress(0, 0, targetStep, 0, Optional.empty(), Optional.empty(), 0, 0, 0, 0, 0, 0);
    }

    /** True once it has committed its first version. */
    public boolean begun() {
        return inForce.isPresent() || prepared.isPresent();
    }

    /** The highest version committed; 0 when none is. */
    public long lastCommitted() {
        return Math.max(prepared.map(PolicyStamp::version).orElse(0L), inForce.map(PolicyStamp::version).orElse(0L));
    }

    public Progress withLastVersion(long version) {
        return new Progress(startStep, step, targetStep, version, inForce, prepared, rows, finishedRows, generatedTokens,
                trainedTokens, targetHeld, evaluatedVersion);
    }

    public Progress withRows(long count, long target) {
        return new Progress(startStep, step, target, lastVersion, inForce, prepared, count, finishedRows, generatedTokens,
                trainedTokens, targetHeld, evaluatedVersion);
    }

    public Progress withTargetStep(long target) {
        return withRows(rows, target);
    }

    /** After an evaluation of a version was counted. */
    public Progress evaluated(long version, int evaluations) {
        return new Progress(startStep, step, targetStep, lastVersion, inForce, prepared, rows, finishedRows, generatedTokens,
                trainedTokens, evaluations, Math.max(version, evaluatedVersion));
    }

    /** After a version came into force. */
    public Progress inForce(PolicyStamp stamp) {
        Optional<PolicyStamp> still = prepared.filter(p -> p.version() > stamp.version());
        return new Progress(startStep, step, targetStep, lastVersion, Optional.of(stamp), still, rows, finishedRows,
                generatedTokens, trainedTokens, targetHeld, evaluatedVersion);
    }

    /** After a commit; the first one says at which step the registration starts. */
    public Progress committed(io.furlong.core.StepCommit commit) {
        long start = begun() ? startStep : commit.stamp().step();
        long target = begun() || targetStep == Integer.MAX_VALUE ? targetStep : start + targetStep;
        return new Progress(start, commit.stamp().step(), target, Math.max(lastVersion, commit.stamp().version()), inForce,
                Optional.of(commit.stamp()), rows, commit.cursor().finished(), commit.generatedTokens(), commit.trainedTokens(),
                targetHeld, evaluatedVersion);
    }
}
