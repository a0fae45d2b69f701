package io.furlong.sglang.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.sglang.testing.TinyServer.Reply;
import io.furlong.sglang.testing.TinyServer.Request;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateBatch;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.WireJson;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * SGLang 0.5.18 as a client sees it, on loopback. Tests script it: {@link #next} queues faults, {@link #holdWaiting} and
 * {@link #holdRunning} keep generations where they are, {@link #kill}, {@link #restart} and {@link #pause} do what they say.
 * {@link #served} tells which weights made each answer.
 *
 * <p>One lock guards everything; a killed server lets all that wait in it go, with their connections cut.
 */
public final class SglangDouble implements AutoCloseable {
    /** One generation that was answered whole. */
    public record Served(String rid, String name, String digest, int tokens) {}

    private enum Phase { WAITING, RUNNING }

    private static final class Pending {
        final String rid;
        final String name;
        Phase phase = Phase.WAITING;
        boolean aborted;

        Pending(String rid, String name) {
            this.rid = rid;
            this.name = name;
        }
    }

    private record Adapter(String path, HashModel.Delta delta) {}

    private final Quirks quirks;
    private final TinyServer server;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<String, Adapter> adapters = new LinkedHashMap<>();
    /** SGLang never forgets where an adapter came from, and loads it again when it is asked for. */
    private final Map<String, String> known = new HashMap<>();
    private final Map<String, Integer> counters = new HashMap<>();
    private final List<Pending> pending = new ArrayList<>();
    private final Map<String, Deque<Fault>> faults = new HashMap<>();
    private final Map<String, Object> settings = new LinkedHashMap<>();
    private Function<Request, Fault> always = r -> new Fault.None();
    private boolean paused;
    private boolean holdWaiting;
    private boolean holdRunning;
    private boolean unreadable;
    private boolean updating;
    private volatile int life;
    private final Set<Thread> hanging = new HashSet<>();
    private final List<Served> served = new CopyOnWriteArrayList<>();
    private final List<JsonNode> generates = new CopyOnWriteArrayList<>();
    private final List<String> calls = new CopyOnWriteArrayList<>();

    public SglangDouble(Quirks quirks) {
        this.quirks = quirks;
        this.server = new TinyServer(this::handle);
    }

    public URI url() {
        return server.url();
    }

    // Scripting

    /** The next requests on {@code path} meet these, one each, before {@link #always} applies. */
    public void next(String path, Fault... queue) {
        locked(() -> faults.computeIfAbsent(path, p -> new ArrayDeque<>()).addAll(List.of(queue)));
    }

    /** What every request meets. */
    public void always(Function<Request, Fault> fault) {
        locked(() -> always = fault);
    }

    /** {@code /server_info} says this. */
    public void setting(String key, Object value) {
        locked(() -> settings.put(key, value));
    }

    public void holdWaiting(boolean hold) {
        locked(() -> holdWaiting = hold);
    }

    public void holdRunning(boolean hold) {
        locked(() -> holdRunning = hold);
    }

    /** The adapter directory can't be read on this engine. */
    public void unreadable(boolean value) {
        locked(() -> unreadable = value);
    }

    public void pause(boolean value) {
        locked(() -> paused = value);
    }

    /** The process ends: connections cut, adapters forgotten. */
    public void kill() {
        server.kill();
        locked(() -> {
            life++;
            adapters.clear();
            known.clear();
            counters.clear();
            pending.clear();
            hanging.forEach(Thread::interrupt);
            updating = false;
            paused = false;
        });
    }

    public void start() {
        server.start();
    }

    public void restart() {
        kill();
        start();
    }

    /** Every open connection is cut; the process goes on. */
    public void cutAll() {
        server.cutAll();
    }

    /** Loaded by someone else, before. */
    public void preload(TestArtifact artifact) {
        locked(() -> {
            adapters.put(artifact.stamp().servedName(), new Adapter(artifact.directory().toAbsolutePath().toString(), artifact.delta()));
            known.put(artifact.stamp().servedName(), artifact.directory().toAbsolutePath().toString());
        });
    }

    // What it saw

    public List<Served> served() {
        return List.copyOf(served);
    }

    /** Bodies of all generations that came in, probes included. */
    public List<JsonNode> generates() {
        return List.copyOf(generates);
    }

    /** {@code METHOD /path} of every request. */
    public List<String> calls() {
        return List.copyOf(calls);
    }

    public Set<String> loaded() {
        lock.lock();
        try {
            return Set.copyOf(adapters.keySet());
        } finally {
            lock.unlock();
        }
    }

    public int counter(String name) {
        lock.lock();
        try {
            return counters.getOrDefault(name, 0);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all are closed. @return how many are open when the time is over */
    public int awaitNoConnections(Duration limit) throws InterruptedException {
        return server.awaitNoConnections(limit);
    }

    /** Returns when so many generations have come in since the start, answered or not. */
    public void awaitGenerates(int atLeast) throws InterruptedException {
        await(() -> generates.size() >= atLeast);
    }

    /** Returns when so many generations are in the server, waiting or running. */
    public void awaitPending(int n) throws InterruptedException {
        await(() -> pending.size() == n);
    }

    private void await(java.util.function.BooleanSupplier condition) throws InterruptedException {
        long left = TimeUnit.SECONDS.toNanos(20);
        lock.lockInterruptibly();
        try {
            while (!condition.getAsBoolean()) {
                if (left <= 0) {
                    throw new AssertionError("did not come about in 20 s; pending " + pending.size());
                }
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        kill();
    }

    // Requests

    private Reply handle(Request request) throws IOException, InterruptedException {
        calls.add(request.method() + " " + request.path());
        int mine = life;
        Fault fault = fault(request);
        return switch (fault) {
            case Fault.None n -> answer(request);
            case Fault.Status(int code, String body) -> body.startsWith("{") ? Reply.json(code, body) : Reply.text(code, body);
            case Fault.Drop d -> throw new IOException("scripted");
            case Fault.DropMidway d -> {
                Reply whole = answer(request);
                yield whole.cutAfter(whole.body().length / 2);
            }
            case Fault.Hang(CountDownLatch until) -> {
                hang(until, mine);
                yield answer(request);
            }
            case Fault.Alter(java.util.function.UnaryOperator<String> change) -> {
                Reply whole = answer(request);
                yield Reply.json(whole.status(), change.apply(new String(whole.body(), java.nio.charset.StandardCharsets.UTF_8)));
            }
        };
    }

    /** Until the latch opens; who kills the server ends it. */
    private void hang(CountDownLatch until, int mine) throws IOException, InterruptedException {
        lock.lock();
        try {
            alive(mine);
            hanging.add(Thread.currentThread());
        } finally {
            lock.unlock();
        }
        try {
            until.await();
        } finally {
            locked(() -> hanging.remove(Thread.currentThread()));
        }
    }

    private Fault fault(Request request) {
        lock.lock();
        try {
            Deque<Fault> queue = faults.getOrDefault(request.path(), new ArrayDeque<>());
            return queue.isEmpty() ? always.apply(request) : queue.poll();
        } finally {
            lock.unlock();
        }
    }

    /** What it would answer, for a server that stands in front of it. */
    Reply answerTo(Request request) throws IOException, InterruptedException {
        return answer(request);
    }

    private Reply answer(Request request) throws IOException, InterruptedException {
        try {
            return switch (request.path()) {
                case "/generate" -> generate(WireJson.readBody(request.body()));
                case "/abort_request" -> abort(WireJson.readBody(request.body()));
                case "/load_lora_adapter" -> load(WireJson.readBody(request.body()));
                case "/unload_lora_adapter" -> unload(WireJson.readBody(request.body()));
                case "/v1/models" -> models();
                case "/server_info" -> Reply.json(200, serverInfo().toString());
                case "/model_info" -> Reply.json(200, "{\"model_path\":\"hash\",\"is_generation\":true,\"weight_version\":\"default\"}");
                case "/health" -> Reply.text(200, "");
                case "/v1/loads" -> Reply.json(200, "{\"timestamp\":\"now\",\"version\":\"0.5.18\",\"loads\":[]}");
                case "/pause_generation" -> paused(true);
                case "/continue_generation" -> paused(false);
                default -> Reply.json(404, "{\"detail\":\"Not Found\"}");
            };
        } catch (RejectedRequest e) {
            return error(e.reply());
        }
    }

    private static Reply error(ErrorReply reply) {
        return reply.json() ? Reply.json(reply.status(), reply.body()) : Reply.text(reply.status(), reply.body());
    }

    private Reply paused(boolean value) {
        pause(value);
        return Reply.json(200, "{\"message\":\"Generation " + (value ? "paused" : "continued") + " successfully.\",\"status\":\"ok\"}");
    }

    private Reply generate(JsonNode body) throws IOException, RejectedRequest, InterruptedException {
        lock.lockInterruptibly();
        try {
            generates.add(body);
            changed.signalAll();
            int mine = life;
            while (paused) {
                changed.await();
                alive(mine);
            }
            String name = body.path("lora_path").asText("");
            HashModel.Delta delta = acquire(name);
            // From here on a refusal leaks the count, as there.
            GenerateBatch batch = GenerateBatch.read(body);
            GenerateRequest one = batch.requests().getFirst();
            int prompt = Answer.prompt(one).length;
            int tokens = one.samplingParams().maxNewTokens().orElse(16);
            if (prompt + tokens > quirks.contextLength()) {
                throw new RejectedRequest(ErrorReply.badValue("Requested token count exceeds the model's maximum context length of " + quirks.contextLength() + " tokens."));
            }
            String rid = one.rid().orElse("server-made");
            if (pending.stream().anyMatch(p -> p.rid.equals(rid))) {
                throw new RejectedRequest(ErrorReply.badValue("Duplicate request ID detected: " + rid));
            }
            Pending me = new Pending(rid, name);
            pending.add(me);
            changed.signalAll();
            try {
                return run(me, one, delta, mine, batch.stream());
            } finally {
                pending.remove(me);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private HashModel.Delta acquire(String name) throws RejectedRequest {
        if (name.isEmpty() || quirks.ignoresLora()) {
            return HashModel.Delta.NONE;
        }
        if (!adapters.containsKey(name)) {
            if (!known.containsKey(name)) {
                throw new RejectedRequest(ErrorReply.badValue("Got LoRA adapter that has never been loaded: " + name + "\nAll loaded adapters: dict_keys(" + adapters.keySet() + ")."));
            }
            try {
                adapters.put(name, new Adapter(known.get(name), AdapterFiles.read(java.nio.file.Path.of(known.get(name)))));
            } catch (IOException e) {
                throw new RejectedRequest(ErrorReply.badValue("Failed to implicitly load LoRA adapter " + name + ": " + e.getMessage()));
            }
        }
        counters.merge(name, 1, Integer::sum);
        return adapters.get(name).delta();
    }

    private Reply run(Pending me, GenerateRequest one, HashModel.Delta delta, int mine, boolean stream) throws IOException, InterruptedException {
        while (!me.aborted && (holdWaiting || !fits(me))) {
            changed.await();
            alive(mine);
        }
        if (me.aborted) {
            // Aborted while it waited: the count is never given back.
            if (quirks.embedded()) {
                release(me.name);
            }
            return Reply.json(200, "{\"text\":\"\",\"output_ids\":[],\"meta_info\":{\"id\":\"" + me.rid
                    + "\",\"finish_reason\":{\"type\":\"abort\",\"message\":\"Abort in waiting queue\"},\"weight_version\":\"default\",\"e2e_latency\":0.1,\"completion_tokens\":0}}");
        }
        me.phase = Phase.RUNNING;
        changed.signalAll();
        HashModel.Delta applied = quirks.ignoresLora() ? HashModel.Delta.NONE : delta;
        Answer answer = Answer.of(one, applied, quirks, url().toString());
        long left = answer.tokens().length * quirks.nanosPerToken();
        while (!me.aborted && (holdRunning || left > 0)) {
            if (holdRunning) {
                changed.await();
            } else {
                left = changed.awaitNanos(left);
            }
            alive(mine);
        }
        release(me.name);
        if (me.aborted) {
            return Reply.json(200, answer.partial(1, me.rid));
        }
        served.add(new Served(me.rid, me.name, applied.digest(), answer.tokens().length));
        return stream ? Reply.events(answer.stream(me.rid)) : Reply.json(200, answer.whole(me.rid));
    }

    private boolean fits(Pending me) {
        Set<String> running = new HashSet<>();
        pending.stream().filter(p -> p.phase == Phase.RUNNING).forEach(p -> running.add(p.name));
        running.add(me.name);
        return running.size() <= quirks.maxLorasPerBatch();
    }

    private void release(String name) {
        counters.computeIfPresent(name, (n, c) -> c - 1);
        changed.signalAll();
    }

    private void alive(int mine) throws IOException {
        if (mine != life) {
            throw new IOException("killed");
        }
    }

    private Reply abort(JsonNode body) {
        String rid = body.path("rid").asText("");
        boolean all = body.path("abort_all").asBoolean();
        boolean prefix = quirks.embedded() && body.path("prefix").asBoolean();
        locked(() -> {
            boolean tracked = all || prefix || pending.stream().anyMatch(p -> p.rid.equals(rid));
            if (tracked && (all || !rid.isEmpty())) {
                pending.stream().filter(p -> all || p.rid.startsWith(rid)).forEach(p -> p.aborted = true);
            }
        });
        return Reply.text(200, "");
    }

    private Reply load(JsonNode body) throws IOException, InterruptedException {
        String name = body.path("lora_name").asText();
        String path = body.path("lora_path").asText();
        lock.lockInterruptibly();
        try {
            beginUpdate();
            try {
                boolean upsert = quirks.embedded() && body.path("upsert").asBoolean();
                if (adapters.containsKey(name) && !upsert) {
                    return lora(400, "LoRA with name " + name + " already exists. Loaded LoRAs: " + adapters.keySet());
                }
                if (unreadable) {
                    return lora(400, "[Errno 13] Permission denied: '" + path + "'");
                }
                adapters.put(name, new Adapter(path, AdapterFiles.read(java.nio.file.Path.of(path))));
                known.put(name, path);
                return lora(200, "");
            } catch (java.nio.file.NoSuchFileException e) {
                return lora(400, "[Errno 2] No such file or directory: '" + path + "'");
            } finally {
                updating = false;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private Reply unload(JsonNode body) throws IOException, InterruptedException {
        String name = body.path("lora_name").asText();
        lock.lockInterruptibly();
        try {
            int mine = life;
            beginUpdate();
            if (adapters.remove(name) == null) {
                updating = false;
                changed.signalAll();
                return lora(400, "LoRA with name " + name + " does not exist. Loaded LoRAs: " + adapters.keySet());
            }
            // No time limit: every load and unload after this one waits behind it.
            while (counters.getOrDefault(name, 0) != 0) {
                changed.await();
                alive(mine);
            }
            updating = false;
            changed.signalAll();
            return lora(200, "");
        } finally {
            lock.unlock();
        }
    }

    private void beginUpdate() throws IOException, InterruptedException {
        int mine = life;
        while (updating) {
            changed.await();
            alive(mine);
        }
        updating = true;
    }

    private Reply lora(int status, String error) {
        ObjectNode reply = WireJson.mapper().createObjectNode();
        reply.putNull("rid").putNull("http_worker_ipc").put("success", status == 200).put("error_message", error.isEmpty() ? null : error);
        ObjectNode loaded = reply.putObject("loaded_adapters");
        adapters.forEach((n, a) -> loaded.put(n, a.path()));
        return Reply.json(status, reply.toString());
    }

    private Reply models() {
        ObjectNode reply = WireJson.mapper().createObjectNode().put("object", "list");
        ArrayNode data = reply.putArray("data");
        data.addObject().put("id", "hash").put("object", "model").put("created", 1).put("owned_by", "sglang").put("root", "hash").putNull("parent").put("max_model_len", quirks.contextLength());
        locked(() -> adapters.forEach((n, a) -> data.addObject().put("id", n).put("object", "model").put("created", 1).put("owned_by", "sglang").put("root", a.path()).put("parent", "hash").putNull("max_model_len")));
        return Reply.json(200, reply.toString());
    }

    private ObjectNode serverInfo() {
        ObjectNode info = WireJson.mapper().createObjectNode().put("model_path", "hash").put("served_model_name", "hash").put("version", "0.5.18").put("status", "ready")
                .put("enable_lora", true).put("max_lora_rank", 16).put("max_loras_per_batch", quirks.maxLorasPerBatch()).putNull("max_loaded_loras")
                .put("tokenizer_worker_num", 1).put("dp_size", 1).putNull("context_length").put("max_total_num_tokens", 1 << 20).put("max_req_input_len", quirks.contextLength() - 1)
                .put("skip_tokenizer_init", false).put("dtype", "float32").put("incremental_streaming_output", quirks.incrementalStreams());
        info.putArray("lora_target_modules").add("q_proj").add("v_proj");
        if (quirks.embedded()) {
            info.putObject("furlong").put("inplace_upsert", true).put("abort_prefix", true).put("lora_digest", true);
        }
        settings.forEach(info::putPOJO);
        return info;
    }

    private void locked(Runnable body) {
        lock.lock();
        try {
            body.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
