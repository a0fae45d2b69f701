package io.furlong.engine;

import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateBatch;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.WireJson;
import io.helidon.http.HeaderNames;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** {@code POST} and {@code PUT /generate}. A client that goes away has its requests aborted. */
final class GenerateRoute {
    /** While a request runs, its client's presence is checked this often, as SGLang does. */
    private static final Duration CLIENT_CHECK = Duration.ofSeconds(1);

    private final Engine engine;
    private final Replies replies;
    private final Supplier<String> weightVersion;

    GenerateRoute(Engine engine, Supplier<String> weightVersion) {
        this.engine = engine;
        this.weightVersion = weightVersion;
        replies = new Replies(engine.tokenizer());
    }

    void handle(ServerRequest request, ServerResponse response) throws RejectedRequest, InterruptedException {
        long since = System.nanoTime();
        GenerateBatch batch = GenerateBatch.read(WireJson.readBody(request.content().as(byte[].class)));
        List<Generation> generations = engine.submit(batch.requests());
        ClientWatch.Client client = ClientWatch.ofThisRequest();
        try {
            if (batch.stream()) {
                stream(batch, generations, client, since, response);
            } else {
                whole(batch, generations, client, since, response);
            }
        } catch (ClientGone | UncheckedIOException e) {
            // Nobody is there to answer; the requests are ended below.
        } finally {
            generations.forEach(Generation::abandon);
        }
    }

    private void whole(GenerateBatch batch, List<Generation> generations, ClientWatch.Client client, long since, ServerResponse response)
            throws RejectedRequest, InterruptedException, ClientGone {
        List<GenerateResponse> all = new ArrayList<>();
        for (int i = 0; i < generations.size(); i++) {
            Generated end;
            do {
                end = next(generations.get(i), client);
            } while (end.finish().isEmpty());
            all.add(replies.reply(batch.requests().get(i), end, seconds(since), weightVersion.get(), OptionalInt.empty()));
        }
        EngineServer.json(response, 200, WireJson.write(batch.array() ? all : all.getFirst()));
    }

    private void stream(GenerateBatch batch, List<Generation> generations, ClientWatch.Client client, long since, ServerResponse response)
            throws InterruptedException, ClientGone {
        response.headers().set(HeaderNames.CONTENT_TYPE, "text/event-stream; charset=utf-8");
        try (OutputStream out = response.outputStream(); ExecutorService tasks = Executors.newVirtualThreadPerTaskExecutor()) {
            ReentrantLock oneAtATime = new ReentrantLock();
            List<Future<?>> streams = new ArrayList<>();
            for (int i = 0; i < generations.size(); i++) {
                Generation generation = generations.get(i);
                GenerateRequest ask = batch.requests().get(i);
                OptionalInt index = batch.array() ? OptionalInt.of(i) : OptionalInt.empty();
                streams.add(tasks.submit(() -> {
                    events(ask, generation, client, since, index, data -> {
                        oneAtATime.lock();
                        try {
                            send(out, data);
                        } finally {
                            oneAtATime.unlock();
                        }
                    });
                    return true;
                }));
            }
            for (Future<?> one : streams) {
                try {
                    one.get();
                } catch (ExecutionException | CancellationException e) {
                    tasks.shutdownNow();
                    throw new ClientGone();
                }
            }
            send(out, GenerateResponse.DONE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Sink {
        void event(String data) throws IOException;
    }

    private void events(GenerateRequest ask, Generation generation, ClientWatch.Client client, long since, OptionalInt index, Sink sink)
            throws InterruptedException, ClientGone, IOException {
        try {
            Optional<GenerateResponse> before = Optional.empty();
            Generated generated;
            do {
                generated = next(generation, client);
                GenerateResponse now = replies.reply(ask, generated, seconds(since), weightVersion.get(), index);
                boolean delta = engine.options().incrementalStreamingOutput() && before.isPresent();
                sink.event(WireJson.write(delta ? replies.increment(ask, now, generated, before.get()) : now));
                before = Optional.of(now);
            } while (generated.finish().isEmpty());
        } catch (RejectedRequest e) {
            sink.event(ErrorReply.inStream(e.reply()));
        }
    }

    private static Generated next(Generation generation, ClientWatch.Client client) throws InterruptedException, RejectedRequest, ClientGone {
        while (true) {
            Optional<Generated> next = generation.next(CLIENT_CHECK);
            if (next.isPresent()) {
                return next.get();
            }
            if (!client.connected()) {
                throw new ClientGone();
            }
        }
    }

    private static void send(OutputStream out, String data) throws IOException {
        out.write(("data: " + data + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static double seconds(long since) {
        return (System.nanoTime() - since) / 1e9;
    }

    /** The client closed its connection. */
    private static final class ClientGone extends Exception {}
}
