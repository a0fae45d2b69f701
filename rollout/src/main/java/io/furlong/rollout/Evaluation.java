package io.furlong.rollout;

import io.furlong.core.PolicyStamp;

/**
 * How good one version is on held-out prompts.
 *
 * @param rows            rows scored
 * @param unscorable      rows left out because their label can't be understood
 * @param greedyAccuracy  share of greedy responses with a reward of 1 or more
 * @param greedyReward    mean reward of the greedy responses
 * @param sampledAccuracy share of the responses sampled at the adapter's own temperature; NaN when none was asked for
 * @param sampledReward   their mean reward; NaN when none was asked for
 */
public record Evaluation(String adapter, PolicyStamp stamp, int rows, int unscorable, double greedyAccuracy, double greedyReward,
                         double sampledAccuracy, double sampledReward) {
}
