package io.furlong.train;

/**
 * What is the same for all adapters of a trainer.
 *
 * @param order               how a batch is cut into micro-batches
 * @param tokensPerMicroBatch most tokens in one forward and backward; bounds memory. A longer sample goes alone
 * @param gap                 how much of a batch is scored again to compare trainer and engine
 */
public record TrainerOptions(Order order, int tokensPerMicroBatch, Gap gap) {
    public static final TrainerOptions DEFAULT = new TrainerOptions(Order.BY_ADAPTER, 2048, Gap.ONE_GROUP);
    public static final TrainerOptions DETERMINISTIC = new TrainerOptions(Order.BY_GROUP, 2048, Gap.ONE_GROUP);

    /** How a batch is cut into micro-batches. */
    public enum Order {
        /** Adapter by adapter, samples of similar length together: few products under each adapter are fastest. Adapters with few samples share one. */
        BY_ADAPTER,
        /**
         * Samples of one group only, in order, so that shape and content of every product depend on the group alone: an adapter's gradient is bit for
         * bit the same whatever else is in the batch and however its groups are spread over batches.
         */
        BY_GROUP
    }

    /** Of each adapter's groups, those that are scored again under the weights that made them. */
    public enum Gap {
        /** One a step, in the batch that completes it. */
        ONE_GROUP,
        ALL_GROUPS
    }

    public TrainerOptions {
        if (tokensPerMicroBatch < 1) {
            throw new IllegalArgumentException("tokens per micro-batch is " + tokensPerMicroBatch + ", must be at least 1");
        }
    }
}
