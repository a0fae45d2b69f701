package io.furlong.engine;

import com.google.re2j.Pattern;
import io.furlong.torch.tokenizer.TextStream;
import io.furlong.wire.FinishReason;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.LoraVersion;
import io.furlong.wire.SamplingParams;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One sequence from arrival to end: its tokens, how many of them are in the key-value cache, and what it has come to.
 *
 * <p>{@code computed ≤ length}: so many tokens are in the key-value cache. While it decodes, exactly the last token is not. Belongs to the engine's thread once it has been handed over.
 */
final class Request {
    /**
     * What does not change.
     *
     * @param ask          the request as it came
     * @param prompt       token ids, shape [P]
     * @param maxNewTokens most output tokens, what the context leaves being the limit
     * @param seed         of the sampling
     * @param streamEvery  an event each so many tokens; 0 for one at the end
     * @param text         makes text of tokens, where there are stop strings or patterns to look for
     * @param stopPatterns matched in time linear in the text, whatever they are
     */
    record Plan(String id, GenerateRequest ask, int[] prompt, int maxNewTokens, long seed, int streamEvery, Optional<TextStream> text,
                List<Pattern> stopPatterns) {}

    private final Plan plan;
    private final Generation generation;
    private Scores.Builder inputScores = new Scores.Builder();
    private final Scores.Builder outputScores = new Scores.Builder();
    private final Map<Integer, Integer> outputCounts = new HashMap<>();
    private final StringBuilder outputText = new StringBuilder();
    private final List<LoraVersion> versions = new ArrayList<>();
    private int[] tokens;
    private int length;
    private int computed;
    private int cached;
    private int retractions;
    private int passedOver;
    private boolean decodes;
    private Optional<LoadedAdapter> adapter = Optional.empty();
    private Optional<Request> sibling = Optional.empty();
    private Optional<FinishReason> finish = Optional.empty();

    Request(Plan plan, Generation generation) {
        this.plan = plan;
        this.generation = generation;
        tokens = Arrays.copyOf(plan.prompt(), plan.prompt().length + Math.min(plan.maxNewTokens(), 256));
        length = plan.prompt().length;
    }

    String id() {
        return plan.id();
    }

    Plan plan() {
        return plan;
    }

    SamplingParams params() {
        return plan.ask().samplingParams();
    }

    Generation generation() {
        return generation;
    }

    int promptLength() {
        return plan.prompt().length;
    }

    /** Positions it may come to fill. */
    int reserve() {
        return promptLength() + plan.maxNewTokens();
    }

    int length() {
        return length;
    }

    int outputs() {
        return length - promptLength();
    }

    /** Token ids at {@code from} … {@code to − 1}. */
    int[] tokens(int from, int to) {
        return Arrays.copyOfRange(tokens, from, to);
    }

    int lastToken() {
        return tokens[length - 1];
    }

    int computed() {
        return computed;
    }

    void computedTo(int position) {
        computed = position;
    }

    /** All its tokens but the last are in the cache, and it has been sampled from since: it decodes. */
    boolean decodes() {
        return decodes;
    }

    void startDecoding() {
        decodes = true;
        sibling = Optional.empty();
    }

    // --- adapter ---

    Optional<LoadedAdapter> adapter() {
        return adapter;
    }

    void adapter(LoadedAdapter acquired) {
        adapter = Optional.of(acquired);
    }

    /** Keeps apart what was computed under other weights or for other tenants. */
    PrefixCache.Space space() {
        return new PrefixCache.Space(adapter.map(LoadedAdapter::generation).orElse(0L), plan.ask().extraKey().orElse(""));
    }

    void release() {
        adapter.ifPresent(LoadedAdapter::release);
    }

    // --- prefill ---

    /** First position whose token's log-prob is wanted; the prompt's length if none is. */
    int scoresFrom() {
        int from = plan.ask().logprobStartLen();
        return plan.ask().returnLogprob() && from >= 0 ? from : promptLength();
    }

    boolean wantsInputScores() {
        return scoresFrom() < promptLength();
    }

    boolean inputScored() {
        return inputScores.length() == promptLength() - scoresFrom();
    }

    Scores.Builder inputScores() {
        return inputScores;
    }

    /** The request with the same tokens that is computing them already. */
    Optional<Request> sibling() {
        return sibling;
    }

    void follow(Request computing) {
        sibling = Optional.of(computing);
    }

    /** Computes for itself again. */
    void part() {
        sibling = Optional.empty();
    }

    /** Whether {@code other}'s prefill is this one's too. */
    boolean sharesPrefill(Request other) {
        return !wantsInputScores() && length == other.length && space().equals(other.space())
                && Arrays.equals(tokens, 0, length, other.tokens, 0, length);
    }

    /** Positions of the prompt that were not computed for it. */
    int cached() {
        return cached;
    }

    void cached(int positions) {
        cached = Math.max(cached, Math.min(positions, promptLength()));
    }

    /** Its place in the cache is gone; everything is to be computed again. */
    void retract() {
        computed = 0;
        decodes = false;
        retractions++;
        if (!inputScored()) {
            inputScores = new Scores.Builder();
        }
        sibling = Optional.empty();
    }

    /** @return how often it was passed over for want of an adapter place, this time included */
    int passOver() {
        return ++passedOver;
    }

    // --- output ---

    void append(TokenSampler.Pick pick) {
        if (length == tokens.length) {
            tokens = Arrays.copyOf(tokens, Math.min(2 * length, reserve()));
        }
        tokens[length++] = pick.token();
        adapter.ifPresent(a -> {
            if (versions.isEmpty() || versions.getLast().version() != a.version()) {
                versions.add(new LoraVersion(outputs() - 1, a.version()));
            }
        });
        if (LogitEdits.countsOutput(params())) {
            outputCounts.merge(pick.token(), 1, Integer::sum);
        }
        plan.text().ifPresent(text -> outputText.append(text.add(pick.token())));
        if (plan.ask().returnLogprob()) {
            outputScores.add(pick.token(), pick.logprob());
            if (plan.ask().topLogprobsNum() > 0) {
                outputScores.addTop(pick.top());
            }
            if (!plan.ask().tokenIdsLogprob().isEmpty()) {
                outputScores.addChosen(pick.chosen());
            }
        }
    }

    Map<Integer, Integer> outputCounts() {
        return outputCounts;
    }

    /** The output as text; kept only where there are stop strings. */
    CharSequence outputText() {
        return outputText;
    }

    Optional<FinishReason> finish() {
        return finish;
    }

    void finish(FinishReason reason) {
        finish = Optional.of(reason);
    }

    /** Tells the caller, if an event is due. */
    void report() {
        int every = plan.streamEvery();
        if (finish.isPresent() || every > 0 && (outputs() - 1) % every == 0) {
            generation.put(new Generated(id(), promptLength(), cached, tokens(promptLength(), length), outputScores.build(), inputScores.build(),
                    finish, adapter.map(LoadedAdapter::digest), versions, retractions));
        }
    }
}
