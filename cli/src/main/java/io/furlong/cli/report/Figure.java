package io.furlong.cli.report;

/** Names of the figures that the report draws; anything else that is recorded only goes to {@code metrics.jsonl}. */
public final class Figure {
    /** Mean reward of the groups of a step. */
    public static final String REWARD_MEAN = "reward_mean";
    /** Mean response length of a step, tokens. */
    public static final String RESPONSE_TOKENS_MEAN = "response_tokens_mean";
    /** Oldest group of a step, optimizer steps. */
    public static final String STALENESS_MAX = "staleness_max";
    /** From commit to in force, seconds. */
    public static final String PUBLISH_SECONDS = "publish_seconds";
    /** Largest |Δ log-prob| between engine and trainer under the same weights. */
    public static final String LOGPROB_GAP_MAX = "logprob_gap_max";
    /** Share right on held-out prompts at temperature 0. */
    public static final String EVAL_GREEDY = "eval_greedy";
    /** Share right on held-out prompts at the training temperature. */
    public static final String EVAL_SAMPLED = "eval_sampled";

    private Figure() {}
}
