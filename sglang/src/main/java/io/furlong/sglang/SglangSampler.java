package io.furlong.sglang;

import io.furlong.core.FinishReason;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.Sampler;
import io.furlong.core.SamplerException;
import io.furlong.core.SamplerException.Kind;
import io.furlong.core.VersionSpan;
import io.furlong.sglang.Loading.Deadline;
import io.furlong.sglang.OpenCalls.Open;
import io.furlong.sglang.Roster.Lease;
import io.furlong.wire.AbortRequest;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.MetaInfo;
import io.furlong.wire.TokenLogprob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Sends one request to an engine that holds its weights, and again to another where that makes sense.
 *
 * <p>Invariants. Every request names its adapter, version and cache namespace. Nothing is sent that is not wanted, asked anew after
 * every wait, nor anything of a registration that was aborted. Each attempt has a fresh request id, and the old one is aborted where it
 * went before the next is sent. Every attempt is settled in the books exactly once, however it ends. What comes back as a result has a
 * finite log-prob for each token; anything else is an exception.
 */
public final class SglangSampler implements Sampler {
    private static final Duration ABORT_AGAIN = Duration.ofMillis(250);

    private final Fleet fleet;
    private final SamplerLimits limits;
    private final OpenCalls calls = new OpenCalls();

    public SglangSampler(Fleet fleet, SamplerLimits limits) {
        this.fleet = fleet;
        this.limits = limits;
    }

    /** How one attempt ended. */
    private sealed interface Attempt {
        record Answered(SampleResult result) implements Attempt {}

        record Final(SamplerException why) implements Attempt {}

        /** Worth another try, elsewhere or later. */
        record Again(String why, EngineException.Kind kind, String rid, Optional<Engine> at) implements Attempt {}
    }

    @Override
    public SampleResult sample(SampleRequest request) throws SamplerException, InterruptedException {
        Optional<String> problem = RequestCheck.problem(request, fleet.roster().facts());
        if (problem.isPresent()) {
            throw new SamplerException(Kind.REJECTED, request.adapter() + ": " + problem.get());
        }
        Deadline deadline = Deadline.in(request.deadline());
        boolean reconciled = false;
        String last = "no engine holds " + request.stamp().servedName();
        for (int attempt = 1; attempt <= limits.attempts(); attempt++) {
            Optional<Lease> lease = fleet.roster().lease(request.stamp().servedName(), request.affinity(), deadline.left(), () -> wanted(request));
            if (lease.isEmpty()) {
                throw wanted(request) ? unavailable(request, attempt - 1, last) : unwanted(request);
            }
            switch (attempt(request, lease.get(), deadline)) {
                case Attempt.Answered(SampleResult result) -> {
                    return result;
                }
                case Attempt.Final(SamplerException why) -> throw why;
                case Attempt.Again(String why, EngineException.Kind kind, String rid, Optional<Engine> at) -> {
                    last = why;
                    if (kind == EngineException.Kind.UNKNOWN_ADAPTER) {
                        if (reconciled || !fleet.config().keepsAdapters()) {
                            throw new SamplerException(Kind.REJECTED, request.adapter() + ": " + why);
                        }
                        reconciled = true;
                        bringBack(request, at);
                    } else {
                        abortOld(rid, at, kind);
                        calls.pause(request.stamp().registration(), least(backoff(attempt), deadline.left()));
                    }
                    fleet.counters().retried();
                }
            }
        }
        throw wanted(request) ? unavailable(request, limits.attempts(), last) : unwanted(request);
    }

    private Attempt attempt(SampleRequest request, Lease lease, Deadline deadline) throws InterruptedException {
        String rid = Rid.fresh(request.adapter());
        GenerateRequest body = GenerateRequest.ofIds(request.inputIds(), RequestCheck.params(request.sampling(), request.seed())).withLogprobs()
                .withRid(rid).withAdapter(request.stamp().servedName()).withExtraKey(request.stamp().extraKey(request.adapter()));
        Open open = new Open(request.stamp().registration(), rid, lease.engine, lease.client.call(body));
        Ending ending = Ending.WRITTEN_OFF;
        try {
            if (!wanted(request) || !calls.begin(open)) {
                ending = Ending.ABORTED_RUNNING;
                return new Attempt.Final(unwanted(request));
            }
            GenerateResponse response = open.call.await(least(limits.attempt(), deadline.left()));
            Judged judged = judge(request, response, lease, rid);
            ending = judged.ending();
            return judged.attempt();
        } catch (EngineException e) {
            ending = Ending.of(e.kind());
            return failed(request, e, rid, lease.engine);
        } finally {
            calls.returned(open);
            fleet.roster().settle(lease, ending);
        }
    }

    private record Judged(Attempt attempt, Ending ending) {}

    /** A 200 may still be an abort, by us or by the engine, or lack what training needs. */
    private Judged judge(SampleRequest request, GenerateResponse response, Lease lease, String rid) {
        MetaInfo meta = response.metaInfo();
        if (meta.finishReason().isEmpty()) {
            return malformed(request, "the reply has no finish reason");
        }
        return switch (meta.finishReason().get()) {
            case io.furlong.wire.FinishReason.Abort abort -> aborted(request, abort, lease, rid);
            case io.furlong.wire.FinishReason.Stop stop -> whole(request, response, FinishReason.STOP, lease);
            case io.furlong.wire.FinishReason.Length length -> whole(request, response, FinishReason.LENGTH, lease);
        };
    }

    private Judged aborted(SampleRequest request, io.furlong.wire.FinishReason.Abort abort, Lease lease, String rid) {
        String why = "aborted by the engine: " + abort.message();
        int status = abort.statusCode().orElse(0);
        if (status == 0) {
            boolean waiting = abort.message().contains("waiting queue");
            return new Judged(new Attempt.Final(new SamplerException(Kind.ABORTED, request.adapter() + ": " + why)),
                    waiting ? Ending.ABORTED_WAITING : Ending.ABORTED_RUNNING);
        }
        if (status < 500 && status != 408 && status != 429) {
            return new Judged(new Attempt.Final(new SamplerException(Kind.REJECTED, request.adapter() + ": " + why)), Ending.REFUSED);
        }
        boolean busy = status < 500 || status == 503;
        return new Judged(new Attempt.Again(why, busy ? EngineException.Kind.OVERLOADED : EngineException.Kind.SERVER_FAULT, rid, lease.engine),
                busy ? Ending.BUSY : Ending.FAULTED);
    }

    private Judged whole(SampleRequest request, GenerateResponse response, FinishReason finish, Lease lease) {
        MetaInfo meta = response.metaInfo();
        int[] ids = response.outputIds();
        if (meta.outputTokenLogprobs().isEmpty()) {
            return malformed(request, "the reply has no output_token_logprobs");
        }
        List<TokenLogprob> triples = meta.outputTokenLogprobs().get();
        if (triples.size() != ids.length || ids.length == 0) {
            return malformed(request, "the reply has " + ids.length + " tokens and " + triples.size() + " log-probs");
        }
        float[] logprobs = new float[ids.length];
        for (int i = 0; i < ids.length; i++) {
            TokenLogprob triple = triples.get(i);
            if (!Float.isFinite(triple.logprob()) || triple.logprob() > 1e-3f) {
                return malformed(request, "log-prob " + i + " is " + triple.logprob());
            }
            if (triple.tokenId() != ids[i]) {
                return malformed(request, "log-prob " + i + " is of token " + triple.tokenId() + ", the token is " + ids[i]);
            }
            logprobs[i] = triple.logprob();
        }
        if (meta.promptTokens().isPresent() && meta.promptTokens().getAsInt() != request.inputIds().length) {
            return malformed(request, "the engine counted " + meta.promptTokens().getAsInt() + " prompt tokens, " + request.inputIds().length + " were sent");
        }
        List<VersionSpan> spans = new ArrayList<>();
        meta.loraVersions().ifPresent(all -> all.forEach(v -> spans.add(new VersionSpan(v.fromToken(), v.version()))));
        SampleResult result = new SampleResult(ids, logprobs, response.text().orElse(""), finish, request.inputIds().length,
                meta.cachedTokens().orElse(0), Names.slot(request.stamp().servedName()) ? spans : List.of(), lease.client.toString());
        return new Judged(new Attempt.Answered(result), Ending.ANSWERED);
    }

    private static Judged malformed(SampleRequest request, String what) {
        return new Judged(new Attempt.Final(new SamplerException(Kind.MALFORMED, request.adapter() + ": " + what)), Ending.ANSWERED);
    }

    private Attempt failed(SampleRequest request, EngineException e, String rid, Optional<Engine> at) {
        return switch (e.kind()) {
            case BAD_REQUEST, UNAUTHORIZED, NOT_FOUND -> new Attempt.Final(new SamplerException(Kind.REJECTED, request.adapter() + ": " + e.getMessage(), e));
            case CANCELLED -> new Attempt.Final(new SamplerException(Kind.ABORTED, request.adapter() + ": " + e.getMessage(), e));
            case UNKNOWN_ADAPTER, OVERLOADED, SERVER_FAULT, GATEWAY, IN_STREAM, UNREACHABLE, TIMED_OUT, DROPPED, UNREADABLE ->
                new Attempt.Again(e.getMessage(), e.kind(), rid, at);
        };
    }

    private void bringBack(SampleRequest request, Optional<Engine> at) throws InterruptedException {
        if (at.isPresent()) {
            fleet.roster().lost(at.get(), request.stamp().servedName());
        } else {
            fleet.reconcile();
        }
    }

    /** What timed out or was cut off may still run there. */
    private void abortOld(String rid, Optional<Engine> at, EngineException.Kind kind) throws InterruptedException {
        if (kind == EngineException.Kind.UNREACHABLE) {
            return;
        }
        List<Future<?>> sent = new ArrayList<>();
        for (Engine engine : at.map(List::of).orElseGet(() -> fleet.roster().engines())) {
            sent.add(abortSoon(engine, AbortRequest.exact(rid)));
        }
        awaitAll(sent);
    }

    @Override
    public void abort(RegistrationId registration) {
        calls.end(registration);
        fleet.roster().wake();
        Deadline deadline = Deadline.in(limits.abort());
        try {
            do {
                abortEverywhere(registration);
                // A request that was on its way when the abort arrived is not known to the engine yet: it is aborted again.
            } while (!calls.awaitNone(registration, least(ABORT_AGAIN, deadline.left())) && !deadline.left().isZero());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        int written = calls.writeOff(registration);
        for (int i = 0; i < written; i++) {
            fleet.counters().wroteOff();
        }
        if (written > 0) {
            awaitCancelled(registration);
        }
    }

    private void awaitCancelled(RegistrationId registration) {
        try {
            calls.awaitNone(registration, limits.abort());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void abortEverywhere(RegistrationId registration) throws InterruptedException {
        List<Open> open = calls.of(registration);
        List<Future<?>> sent = new ArrayList<>();
        for (Engine engine : fleet.roster().engines()) {
            for (Open one : open) {
                sent.add(abortSoon(engine, AbortRequest.exact(one.rid)));
            }
            boolean prefix = engine.facts.map(EngineFacts::abortPrefix).orElse(false);
            if (prefix && !open.isEmpty()) {
                sent.add(abortSoon(engine, AbortRequest.startingWith(open.getFirst().rid.substring(0, open.getFirst().rid.indexOf("::") + 2))));
            }
        }
        awaitAll(sent);
    }

    private Future<?> abortSoon(Engine engine, AbortRequest request) {
        return fleet.tasks().submit(() -> {
            try {
                engine.client.abort(request, limits.abort());
            } catch (EngineException e) {
                // whether it took effect shows in the original call
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private static void awaitAll(List<Future<?>> sent) throws InterruptedException {
        for (Future<?> one : sent) {
            try {
                one.get();
            } catch (ExecutionException e) {
                throw new IllegalStateException("an abort ended by a fault of ours", e.getCause());
            }
        }
    }

    private boolean wanted(SampleRequest request) {
        return !calls.ended(request.stamp().registration()) && request.wanted().getAsBoolean();
    }

    /** Doubles, ± half at random, so that those who were refused together don't come back together. */
    private Duration backoff(int attempt) {
        long base = limits.firstBackoff().toNanos() << Math.min(attempt - 1, 30);
        long bounded = Math.min(base < 0 ? Long.MAX_VALUE : base, limits.longestBackoff().toNanos());
        return Duration.ofNanos(bounded / 2 + ThreadLocalRandom.current().nextLong(bounded + 1));
    }

    private static Duration least(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    private static SamplerException unwanted(SampleRequest request) {
        return new SamplerException(Kind.UNWANTED, request.adapter() + ": no longer wanted");
    }

    private static SamplerException unavailable(SampleRequest request, int attempts, String last) {
        return new SamplerException(Kind.UNAVAILABLE, request.adapter() + ": no answer after " + attempts + " attempts in " + request.deadline() + "; last: " + last);
    }
}
