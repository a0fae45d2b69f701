package io.furlong.rollout;

import io.furlong.core.LedgerSnapshot;
import io.furlong.core.RegistrationId;

/**
 * One adapter's figures at one instant.
 *
 * @param ahead            groups generating, buffered, collected or accumulated
 * @param room             most groups that may be open now
 * @param requestsInFlight requests at the engines
 * @param generatedTokens  response tokens since registration
 * @param trainedTokens    response tokens trained since registration
 * @param tokensPerSecond  response tokens over the last ten seconds
 * @param recentReward     moving mean of the finished groups' rewards; NaN before the first
 * @param recentLength     moving mean of the response length in tokens; NaN before the first
 * @param trainedLength    mean response length of all trained samples; NaN before the first
 * @param staleLength      mean response length of all samples dropped as stale; NaN when none was
 * @param stuckRewards     reward calls past their deadline that still occupy a thread
 * @param abandonedRewards reward calls given up on since the start
 * @param rowsFinished     rows trained, filtered or failed since the start
 * @param rowsPerEpoch     rows a pass has; 0 before the dataset is open
 * @param constantSteps    steps in a row, up to now, in which every sample got the same reward: nothing can be learned from them
 */
public record AdapterStatistics(String adapter, RegistrationId registration, LedgerSnapshot ledger, long ahead, long room,
                                int requestsInFlight, long generatedTokens, long trainedTokens, double tokensPerSecond,
                                double recentReward, double recentLength, double trainedLength, double staleLength,
                                int stuckRewards, long abandonedRewards, long rowsFinished, long rowsPerEpoch, int constantSteps) {
}
