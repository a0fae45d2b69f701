package io.furlong.engine;

import io.furlong.torch.BaseModel;
import io.furlong.torch.CheckpointException;
import io.furlong.torch.KvCache;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.Numerics;
import io.furlong.torch.TorchThread;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.PauseRequest;
import io.furlong.wire.RejectedRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A model being served: requests and adapters go in, generations come out. Works with or without {@link EngineServer} in front.
 *
 * <p>One platform thread owns scheduler, adapter table, prefix cache and every tensor. Whatever is asked of the engine is a task on that
 * thread's queue, and so is each step, which queues the next one while there is work: a request, an abort or a new adapter waits for one step at most, and
 * an idle engine does nothing. Adapters are read and copied on a second thread, so that a load never holds up a step.
 */
public final class Engine implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Engine.class);
    private static final long DEFAULT_CACHE_BYTES = 2L << 30;

    private final EngineOptions options;
    private final BaseModel base;
    private final Runnable closeBase;
    private final Optional<HfTokenizer> tokenizer;
    private final int contextLength;
    private final int totalTokens;
    private final Planner planner;
    private final TorchThread thread;
    private final AdapterLoader loader;
    private final AdapterTable adapters;
    private final ModelRunner model;
    private final PrefixCache prefixes;
    private final Scheduler scheduler;
    private final List<Awaited> awaited = new ArrayList<>();
    private final AtomicBoolean closed = new AtomicBoolean();
    private boolean stepQueued;
    private boolean paused;
    private volatile EngineLoad load;

    /** Whoever waits for the engine to be in some state. */
    private record Awaited(Predicate<EngineLoad> condition, Runnable then, CompletableFuture<Void> done) {}

    private Engine(EngineOptions options, BaseModel base, Runnable closeBase) {
        this.options = options;
        this.base = base;
        this.closeBase = closeBase;
        ModelConfig config = base.config();
        tokenizer = options.skipTokenizerInit() ? Optional.empty() : Optional.of(HfTokenizer.load(options.model()));
        contextLength = Math.min(options.contextLength().orElse(config.contextLength()), config.contextLength());
        totalTokens = options.maxTotalTokens().orElseGet(() -> defaultTotalTokens(config));
        Set<Integer> endTokens = Set.copyOf(config.eosTokenIds());
        Random random = new Random(options.randomSeed().orElseGet(System::nanoTime));
        planner = new Planner(config, tokenizer, contextLength, totalTokens,
                options.enableDeterministicInference() ? () -> Planner.DETERMINISTIC_SEED : random::nextLong);
        thread = new TorchThread("furlong-engine");
        loader = new AdapterLoader(options, config);
        adapters = new AdapterTable(options.maxLoadedLoras());
        prefixes = new PrefixCache(options.prefixCacheTokens().orElse(totalTokens / 4));
        model = thread.call(() -> new ModelRunner(base, options.enableDeterministicInference() ? Numerics.DETERMINISTIC : Numerics.FAST));
        scheduler = new Scheduler(model, prefixes, new TokenSampler(new LogitEdits(endTokens)), new StopCheck(endTokens),
                new Scheduler.Limits(options.maxRunningRequests(), options.maxLorasPerBatch(), totalTokens));
        load = scheduler.load();
    }

    /** Loads the model; {@link CheckpointException} in one line if it can't be. */
    public static Engine start(EngineOptions options) {
        BaseModel base = BaseModel.load(options.model());
        try {
            return new Engine(options, base, base::close);
        } catch (RuntimeException e) {
            base.close();
            throw e;
        }
    }

    /** Serves a base that is already loaded, shared with a trainer in this process; whoever made it closes it, after the engine. */
    public static Engine start(EngineOptions options, BaseModel base) {
        return new Engine(options, base, () -> {});
    }

    // --- generating ---

    /** Takes a request in; returns at once. */
    public Generation submit(GenerateRequest ask) throws RejectedRequest, InterruptedException {
        return submit(List.of(ask)).getFirst();
    }

    /**
     * Takes requests in together: those with one prompt are computed once.
     *
     * @throws RejectedRequest if one of them can't be served; then none is taken in
     */
    public List<Generation> submit(List<GenerateRequest> asks) throws RejectedRequest, InterruptedException {
        List<Request> requests = new ArrayList<>();
        for (GenerateRequest ask : asks) {
            Request.Plan plan = planner.plan(ask);
            requests.add(new Request(plan, new Generation(plan.id(), g -> abort(r -> r.generation() == g))));
        }
        for (GenerateRequest ask : asks) {
            if (ask.loraPath().isPresent()) {
                loadAgain(ask.loraPath().get());
            }
        }
        Optional<ErrorReply> refused = onThread(() -> takeIn(requests));
        if (refused.isPresent()) {
            throw new RejectedRequest(refused.get());
        }
        return requests.stream().map(Request::generation).toList();
    }

    /** Ends requests whose id starts with {@code rid}, if one of them has exactly this id. */
    public void abort(String rid) {
        onThread(() -> {
            if (scheduler.holds(rid)) {
                end(r -> r.id().startsWith(rid));
            }
            return true;
        });
    }

    /** Ends requests whose id starts with {@code prefix}. */
    public void abortStartingWith(String prefix) {
        abort(r -> r.id().startsWith(prefix));
    }

    public void abortAll() {
        abort(r -> true);
    }

    /** Stops stepping. New requests wait; what happens to those under way the mode says. */
    public void pause(PauseRequest.Mode mode) {
        onThread(() -> {
            paused = true;
            switch (mode) {
                case ABORT -> end(r -> true);
                case RETRACT -> scheduler.retract(r -> true);
                case IN_PLACE -> { }
            }
            return afterChange();
        });
    }

    /** Goes on after {@link #pause}. */
    public void resume() {
        onThread(() -> {
            paused = false;
            wake();
            return paused;
        });
    }

    public boolean paused() {
        return onThread(() -> paused);
    }

    // --- adapters ---

    /**
     * Loads a PEFT directory under a name.
     *
     * @throws AdapterRefused in one line; nothing is registered then
     */
    public AdapterInfo load(LoadLoraRequest ask) throws AdapterRefused {
        if (!ask.upsert() && adapters.listed(ask.loraName()).isPresent()) {
            throw new AdapterRefused("Failed to load LoRA adapter " + ask.loraName() + " because it is already loaded");
        }
        return register(loader.fromDirectory(ask), ask);
    }

    /**
     * Publishes weights of this process under a name, without a directory: what is served is a copy made here.
     *
     * @param weights frozen
     * @param version reported in {@code lora_versions}
     */
    public AdapterInfo load(String name, LoraWeights weights, long version) throws AdapterRefused {
        LoadLoraRequest ask = new LoadLoraRequest(name, "", false, false, OptionalLong.of(version), Optional.empty());
        return register(loader.fromMemory(ask, weights), ask);
    }

    /** Replaces in place what a name serves, or loads it; running requests go on under the new weights. */
    public AdapterInfo upsert(String name, LoraWeights weights, long version) throws AdapterRefused {
        LoadLoraRequest ask = new LoadLoraRequest(name, "", false, true, OptionalLong.of(version), Optional.empty());
        return register(loader.fromMemory(ask, weights), ask);
    }

    /** Takes a name away at once; the future is done when the requests that still use the adapter have ended and its memory is free. */
    public CompletableFuture<Void> unload(String name) throws AdapterRefused {
        loader.checkEnabled();
        return changingTable(() -> {
            long generation = adapters.listed(name).map(AdapterInfo::generation).orElse(0L);
            CompletableFuture<Void> freed = adapters.unload(name);
            prefixes.forget(generation);
            return freed;
        });
    }

    /** Loaded adapters, in order of loading. */
    public List<AdapterInfo> adapters() {
        return adapters.listed();
    }

    // --- the rest ---

    /** Forgets cached prefixes. @return false, and nothing happens, if the engine did not become idle in time */
    public boolean flushCache(Duration patience) throws InterruptedException {
        // Cleared on the engine's thread at the moment it is idle, before anything else can be taken in.
        return await(EngineLoad::idle, prefixes::clear, patience);
    }

    /** Waits until the engine is as busy as {@code condition} says, as of the end of a step or of a change from outside. @return false if it was not in time */
    public boolean await(Predicate<EngineLoad> condition, Duration patience) throws InterruptedException {
        return await(condition, () -> {}, patience);
    }

    private boolean await(Predicate<EngineLoad> condition, Runnable then, Duration patience) throws InterruptedException {
        Awaited wait = new Awaited(condition, then, new CompletableFuture<>());
        onThread(() -> {
            awaited.add(wait);
            return afterChange();
        });
        try {
            wait.done().get(Math.max(1, patience.toNanos()), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return onThread(() -> !awaited.remove(wait));
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    /** Whether the engine's thread answers within {@code patience}. */
    public boolean alive(Duration patience) throws InterruptedException {
        try {
            thread.submit(() -> true).get(patience.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException | ExecutionException | RuntimeException e) {
            return false;
        }
    }

    /** As of the end of the last step. */
    public EngineLoad load() {
        return load;
    }

    public EngineOptions options() {
        return options;
    }

    public ModelConfig config() {
        return base.config();
    }

    public Optional<HfTokenizer> tokenizer() {
        return tokenizer;
    }

    /** Prompt and response together, in tokens. */
    public int contextLength() {
        return contextLength;
    }

    /** Bound of the key-value cache, in tokens. */
    public int totalTokens() {
        return totalTokens;
    }

    /** Ends what runs, with finish reason abort, and frees everything. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        onThread(() -> {
            end(r -> true);
            adapters.close();
            prefixes.close();
            model.close();
            return true;
        });
        loader.close();
        thread.close();
        tokenizer.ifPresent(HfTokenizer::close);
        closeBase.run();
    }

    // --- on the engine's thread ---

    private Optional<ErrorReply> takeIn(List<Request> requests) {
        if (scheduler.waiting() + requests.size() > options.maxQueuedRequests() + options.maxRunningRequests()) {
            return Optional.of(ErrorReply.unavailable("The request queue is full."));
        }
        Set<String> ids = new HashSet<>();
        for (int i = 0; i < requests.size(); i++) {
            Optional<ErrorReply> refused = prepare(requests.get(i), ids);
            if (refused.isPresent()) {
                requests.subList(0, i).forEach(Request::release);
                return refused;
            }
        }
        requests.forEach(scheduler::add);
        afterChange();
        wake();
        return Optional.empty();
    }

    private Optional<ErrorReply> prepare(Request request, Set<String> idsBefore) {
        Optional<String> name = request.plan().ask().loraPath();
        if (name.isPresent()) {
            if (!options.enableLora()) {
                return Optional.of(ErrorReply.badValue("LoRA adapter '" + name.get() + "' was requested, but LoRA is not enabled. Please launch the "
                        + "server with --enable-lora flag and preload adapters using --lora-paths or /load_lora_adapter endpoint."));
            }
            Optional<LoadedAdapter> adapter = adapters.acquire(name.get());
            if (adapter.isEmpty()) {
                return Optional.of(ErrorReply.badValue("Got LoRA adapter that has never been loaded: " + name.get() + "\nAll loaded adapters: dict_keys("
                        + adapters.listed().stream().map(a -> "'" + a.name() + "'").toList() + ")."));
            }
            request.adapter(adapter.get());
        }
        if (scheduler.holds(request.id()) || !idsBefore.add(request.id())) {
            request.release();
            return Optional.of(ErrorReply.badValue("Duplicate request ID detected: " + request.id()));
        }
        return Optional.empty();
    }

    private void wake() {
        if (!stepQueued && !paused && !scheduler.idle()) {
            stepQueued = true;
            thread.submit(this::step);
        }
    }

    private boolean step() {
        stepQueued = false;
        if (!paused) {
            try {
                scheduler.step();
            } catch (RuntimeException | Error e) {
                LOG.error("step failed, its requests are given back", e);
                scheduler.failAll(ErrorReply.unavailable("The engine failed in this step: " + firstLine(e)));
            }
        }
        afterChange();
        wake();
        return true;
    }

    private void end(Predicate<Request> which) {
        scheduler.abort(which);
        afterChange();
    }

    private EngineLoad afterChange() {
        EngineLoad now = scheduler.load();
        load = now;
        awaited.removeIf(wait -> {
            boolean met = wait.condition().test(now);
            if (met) {
                wait.then().run();
                wait.done().complete(null);
            }
            return met;
        });
        return now;
    }

    private AdapterInfo put(LoadedAdapter.Source source, LoadLoraRequest ask) throws AdapterRefused {
        if (!ask.upsert()) {
            return adapters.load(source).info();
        }
        AdapterTable.Upsert upsert = adapters.upsert(source);
        upsert.old().ifPresent(old -> {
            scheduler.replace(old, upsert.now());
            prefixes.forget(old.generation());
            old.retire();
        });
        return upsert.now().info();
    }

    // --- on the caller's thread ---

    private void abort(Predicate<Request> which) {
        onThread(() -> {
            end(which);
            return true;
        });
    }

    /** A name that was unloaded is loaded again from where it was, as SGLang does. */
    private void loadAgain(String name) throws RejectedRequest {
        Optional<Path> path = options.enableLora() && adapters.listed(name).isEmpty() ? adapters.remembered(name) : Optional.empty();
        if (path.isPresent()) {
            try {
                load(LoadLoraRequest.of(name, path.get().toString()));
            } catch (AdapterRefused e) {
                if (adapters.listed(name).isEmpty()) {
                    throw new RejectedRequest(ErrorReply.badValue("Failed to implicitly load LoRA adapter " + name + ": " + e.getMessage()));
                }
            }
        }
    }

    private AdapterInfo register(LoadedAdapter.Source source, LoadLoraRequest ask) throws AdapterRefused {
        try {
            return changingTable(() -> put(source, ask));
        } catch (AdapterRefused | RuntimeException e) {
            source.weights().close();
            throw e;
        }
    }

    /** A change of the adapter table, which may be refused. */
    private interface TableChange<T> {
        T apply() throws AdapterRefused;
    }

    private <T> T changingTable(TableChange<T> change) throws AdapterRefused {
        try {
            return thread.call(change::apply);
        } catch (CompletionException e) {
            if (e.getCause() instanceof AdapterRefused refused) {
                throw refused;
            }
            throw e;
        }
    }

    private <T> T onThread(Callable<T> task) {
        return thread.call(task);
    }

    private int defaultTotalTokens(ModelConfig config) {
        long affordable = DEFAULT_CACHE_BYTES / KvCache.bytesPerToken(config);
        return (int) Math.max(contextLength, Math.min(affordable, (long) options.maxRunningRequests() * contextLength));
    }

    static String firstLine(Throwable e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse(e.getClass().getSimpleName());
    }
}
