package io.furlong.cli.report;

import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A whole run in figures, made once at its end.
 *
 * @param device          such as {@code cpu} or {@code cuda:0}
 * @param model           the base model's directory as the user gave it
 * @param tokensGenerated response tokens of all requests, also of attempts that were not trained and of evaluations
 * @param tokensTrained   response tokens of groups in committed steps
 */
public record RunSummary(long seed, Duration wall, String device, String model, long tokensGenerated, long tokensTrained,
                         List<AdapterResult> adapters) {
    public RunSummary {
        adapters = List.copyOf(adapters);
    }

    /** True when no adapter failed. */
    public boolean succeeded() {
        return adapters.stream().noneMatch(a -> a.state() == AdapterState.FAILED);
    }

    /**
     * @param greedy            share of held-out prompts answered right at temperature 0
     * @param sampled           the same at the training temperature, several samples a prompt
     * @param maxStalenessSeen  oldest trained group, in optimizer steps
     * @param logprobGapMax     largest |Δ log-prob| between engine and trainer under the same weights, natural log
     * @param reason            why it failed or ended early; empty text when nothing to say
     * @param exported          the PEFT directory of the last committed version
     */
    public record AdapterResult(String name, AdapterState state, String reason, BeforeAfter greedy, BeforeAfter sampled, long steps,
                                long versionsPublished, int maxStalenessSeen, double logprobGapMax, LedgerSnapshot groups,
                                Optional<Path> exported) {}

    /**
     * Shares from 0 to 1; empty where nothing was evaluated.
     *
     * @param before under the adapter's first, zero-effect version
     * @param after  under its last version
     */
    public record BeforeAfter(OptionalDouble before, OptionalDouble after) {
        public static final BeforeAfter NONE = new BeforeAfter(OptionalDouble.empty(), OptionalDouble.empty());

        public static BeforeAfter of(double before, double after) {
            return new BeforeAfter(OptionalDouble.of(before), OptionalDouble.of(after));
        }
    }
}
