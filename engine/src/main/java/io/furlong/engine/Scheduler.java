package io.furlong.engine;

import com.fasterxml.jackson.databind.node.TextNode;
import io.furlong.engine.ModelRunner.Piece;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.FinishReason;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;

/**
 * Continuous batching. A step admits what fits, computes what was admitted, gives every decoding sequence one more token, and lets go of those that
 * have ended; sequences of several adapters and of the base share each forward.
 *
 * <p>Request i of {@link #running} has row i of the key-value cache. Admission is first come, first served: nobody overtakes a request that waits for
 * memory. One that waits for an adapter place is overtaken, but not for ever. Requests with the same prompt under the same weights that are
 * admitted together are computed once. Memory is bounded as the cache takes it: rows × the longest sequence.
 *
 * <p>Belongs to the engine's thread.
 */
final class Scheduler {
    /** Tokens of one prefill; a longer prompt is computed in several steps, between which the others decode on. */
    static final int PREFILL_TOKENS = 1024;
    /** Prompt log-probs are taken for so many positions at a time. */
    private static final int SCORE_ROWS = 256;
    static final String ABORTED_WAITING = "Abort in waiting queue";
    /** Steps after which nobody overtakes a request that waits for an adapter place. */
    private static final int PATIENCE = 64;

    private final ModelRunner model;
    private final PrefixCache prefixes;
    private final TokenSampler sampler;
    private final StopCheck stop;
    private final Limits limits;
    private final ArrayDeque<Request> waiting = new ArrayDeque<>();
    private final List<Request> running = new ArrayList<>();
    /** Of all that wait or run. */
    private final Set<String> ids = new HashSet<>();
    private long promptTokens;
    private long cachedTokens;
    private int mostRows;
    private int longest;
    private final Throughput throughput = new Throughput();

    /** See {@link EngineOptions}. */
    record Limits(int runningRequests, int lorasPerBatch, int totalTokens) {}

    Scheduler(ModelRunner model, PrefixCache prefixes, TokenSampler sampler, StopCheck stop, Limits limits) {
        this.model = model;
        this.prefixes = prefixes;
        this.sampler = sampler;
        this.stop = stop;
        this.limits = limits;
    }

    void step() {
        admit();
        prefill();
        decode();
        if (running.isEmpty() && model.cacheBytes() > 0 && mostRows * (long) longest > limits.totalTokens() / 2) {
            forgetRows();
        }
    }

    // --- admit ---

    private void admit() {
        for (Iterator<Request> queue = waiting.iterator(); queue.hasNext();) {
            Request next = queue.next();
            if (!fits(next)) {
                return;
            }
            if (adapterPlace(next)) {
                queue.remove();
                place(next);
            } else if (next.passOver() > PATIENCE) {
                return;
            }
        }
    }

    private boolean fits(Request next) {
        if (running.isEmpty() && Math.max(mostRows, 1) * (long) Math.max(longest, next.reserve()) > limits.totalTokens()) {
            forgetRows();
        }
        int rows = Math.max(mostRows, running.size() + 1);
        return running.size() < limits.runningRequests() && rows * (long) Math.max(longest, next.reserve()) <= limits.totalTokens();
    }

    private boolean adapterPlace(Request next) {
        if (next.adapter().isEmpty()) {
            return true;
        }
        Set<LoadedAdapter> taken = new HashSet<>();
        running.forEach(r -> r.adapter().ifPresent(taken::add));
        return taken.contains(next.adapter().get()) || taken.size() < limits.lorasPerBatch();
    }

    private void place(Request request) {
        int row = running.size();
        running.add(request);
        mostRows = Math.max(mostRows, running.size());
        longest = Math.max(longest, request.reserve());
        Optional<Request> sibling = running.stream()
                .filter(r -> r != request && !r.decodes() && r.sibling().isEmpty() && request.sharesPrefill(r)).findFirst();
        if (sibling.isPresent()) {
            request.follow(sibling.get());
            return;
        }
        // The last token is always computed, for its logits; so is what input log-probs are wanted of.
        int reusable = Math.min(request.length() - 1, request.scoresFrom());
        prefixes.find(request.space(), request.tokens(0, reusable)).ifPresent(match -> {
            model.load(match, row);
            request.computedTo(match.length());
            request.cached(match.length());
        });
    }

    private void forgetRows() {
        model.clear();
        mostRows = 0;
        longest = 0;
    }

    // --- prefill ---

    private void prefill() {
        List<Piece> pieces = pieces();
        if (pieces.isEmpty()) {
            return;
        }
        Tensor hidden = model.prefill(pieces);
        List<Request> done = new ArrayList<>();
        List<Integer> lastRows = new ArrayList<>();
        int offset = 0;
        for (Piece piece : pieces) {
            Request request = piece.request();
            scoreInput(hidden, offset, piece);
            request.computedTo(piece.to());
            offset += piece.length();
            if (piece.to() == request.length()) {
                keepPrefix(piece);
                for (Request finished : withSiblings(piece)) {
                    done.add(finished);
                    lastRows.add(offset - 1);
                }
            }
        }
        if (!done.isEmpty()) {
            settle(done, model.logits(hidden, lastRows));
        }
    }

    /** Neighbours run under one adapter, since each change of adapter is a product of its own. */
    private List<Piece> pieces() {
        List<Piece> pieces = new ArrayList<>();
        int budget = PREFILL_TOKENS;
        for (int row = 0; row < running.size() && budget > 0; row++) {
            Request request = running.get(row);
            if (!request.decodes() && request.sibling().isEmpty()) {
                int to = Math.min(request.length(), request.computed() + budget);
                pieces.add(new Piece(request, row, request.computed(), to));
                budget -= to - request.computed();
            }
        }
        pieces.sort(Comparator.comparingLong(p -> p.request().space().generation()));
        return pieces;
    }

    private void scoreInput(Tensor hidden, int offset, Piece piece) {
        Request request = piece.request();
        if (!request.wantsInputScores() || request.inputScored()) {
            return;
        }
        if (request.inputScores().length() == 0) {
            TokenSampler.scoreFirst(request);
        }
        int end = Math.min(piece.to(), request.promptLength() - 1);
        for (int at = Math.max(piece.from(), request.scoresFrom()); at < end; at += SCORE_ROWS) {
            int rows = Math.min(SCORE_ROWS, end - at);
            TokenSampler.score(model.logits(hidden, offset + at - piece.from(), rows), request.tokens(at + 1, at + 1 + rows), request);
        }
    }

    private void keepPrefix(Piece piece) {
        Request request = piece.request();
        if (prefixes.wants(request.space(), request.plan().prompt())) {
            prefixes.add(request.space(), request.plan().prompt(), model.save(piece.row(), request.promptLength()));
        }
    }

    private List<Request> withSiblings(Piece piece) {
        List<Request> all = new ArrayList<>(List.of(piece.request()));
        for (int row = 0; row < running.size(); row++) {
            Request other = running.get(row);
            if (other.sibling().orElse(null) == piece.request()) {
                model.copy(piece.row(), row, piece.to());
                other.computedTo(piece.to());
                other.cached(piece.to());
                all.add(other);
            }
        }
        all.forEach(r -> {
            r.startDecoding();
            promptTokens += r.promptLength();
            cachedTokens += r.cached();
        });
        return all;
    }

    // --- decode ---

    private void decode() {
        int ready = decodingFirst();
        if (ready > 0) {
            List<Request> batch = List.copyOf(running.subList(0, ready));
            Tensor logits = model.decode(batch);
            batch.forEach(r -> r.computedTo(r.length()));
            settle(batch, logits);
        }
    }

    /** Brings the decoding requests to the first rows; those still being computed come after. */
    private int decodingFirst() {
        int ready = 0;
        int last = running.size() - 1;
        while (true) {
            while (ready <= last && running.get(ready).decodes()) {
                ready++;
            }
            while (last > ready && !running.get(last).decodes()) {
                last--;
            }
            if (ready >= last) {
                return ready;
            }
            int spare = running.size();
            model.copy(ready, spare, running.get(ready).computed());
            model.copy(last, ready, running.get(last).computed());
            model.copy(spare, last, running.get(ready).computed());
            running.set(last, running.set(ready, running.get(last)));
        }
    }

    // --- what follows a token ---

    private void settle(List<Request> requests, Tensor logits) {
        List<TokenSampler.Pick> picks = sampler.sample(logits, requests);
        for (int i = 0; i < requests.size(); i++) {
            Request request = requests.get(i);
            TokenSampler.Pick pick = picks.get(i);
            if (request.plan().maxNewTokens() == 0) {
                request.finish(new FinishReason.Length(0));
            } else if (pick.token() == TokenSampler.Pick.NOT_A_NUMBER) {
                request.finish(new FinishReason.Stop(TextNode.valueOf("NaN happened")));
            } else {
                request.append(pick);
                stop.after(request).ifPresent(request::finish);
            }
            request.report();
        }
        throughput.add(requests.size());
        leave(r -> r.finish().isPresent());
        // An adapter that has run away must not reach those who get its rows next.
        if (picks.stream().anyMatch(pick -> pick.token() == TokenSampler.Pick.NOT_A_NUMBER)) {
            model.scrub();
        }
    }

    /** Lets go of requests; the last row takes the place of each. */
    private List<Request> leave(Predicate<Request> leaving) {
        List<Request> gone = new ArrayList<>();
        for (int row = running.size() - 1; row >= 0; row--) {
            Request request = running.get(row);
            if (leaving.test(request)) {
                gone.addFirst(request);
                running.forEach(r -> {
                    if (r.sibling().orElse(null) == request) {
                        r.part();
                    }
                });
                Request last = running.removeLast();
                if (last != request) {
                    model.copy(running.size(), row, last.computed());
                    running.set(row, last);
                }
                if (request.finish().isPresent()) {
                    forget(request);
                }
            }
        }
        return gone;
    }

    // --- what the engine asks ---

    void add(Request request) {
        ids.add(request.id());
        waiting.addLast(request);
    }

    boolean idle() {
        return waiting.isEmpty() && running.isEmpty();
    }

    /** Whether a request with exactly this id waits or runs. */
    boolean holds(String id) {
        return ids.contains(id);
    }

    int waiting() {
        return waiting.size();
    }

    /** Ends requests; their callers get what there is. */
    void abort(Predicate<Request> which) {
        for (Request request : waiting.stream().filter(which).toList()) {
            waiting.remove(request);
            request.finish(FinishReason.Abort.of(ABORTED_WAITING));
            request.report();
            forget(request);
        }
        running.stream().filter(which).forEach(request -> {
            request.finish(FinishReason.Abort.of("Aborted"));
            request.report();
        });
        leave(r -> r.finish().isPresent());
    }

    /** Sends running requests back to the head of the queue; what they have generated stays and is computed anew. */
    void retract(Predicate<Request> which) {
        for (Request request : leave(which).reversed()) {
            request.retract();
            waiting.addFirst(request);
        }
    }

    /** Lets requests go on under the weights that replace theirs; everything is computed anew under them. */
    void replace(LoadedAdapter old, LoadedAdapter now) {
        Predicate<Request> affected = r -> r.adapter().orElse(null) == old;
        retract(affected);
        waiting.stream().filter(affected).toList().forEach(request -> {
            request.adapter(now.acquire());
            old.release();
        });
    }

    /** Gives all requests back with an error. */
    void failAll(ErrorReply reply) {
        for (List<Request> all : List.of(List.copyOf(waiting), List.copyOf(running))) {
            all.forEach(request -> {
                request.generation().reject(reply);
                forget(request);
            });
        }
        waiting.clear();
        running.clear();
        forgetRows();
    }

    private void forget(Request request) {
        ids.remove(request.id());
        request.release();
    }

    EngineLoad load() {
        return new EngineLoad(running.size(), waiting.size(), running.stream().mapToLong(Request::length).sum() + prefixes.tokens(),
                limits.totalTokens(), limits.runningRequests(), throughput.perSecond(),
                (int) running.stream().flatMap(r -> r.adapter().stream()).distinct().count(), limits.lorasPerBatch(),
                promptTokens == 0 ? 0 : cachedTokens / (double) promptTokens);
    }
}
