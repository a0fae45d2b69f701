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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** {@code POST} and {@code PUT /generate}. A client that goes away has its requests aborted. */
final class GenerateRoute {
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
        GenerateBatch batch = GenerateBatch.read(WireJson.readBody(EngineServer.body(request)));
        List<Generation> generations = engine.submit(batch.requests());
        try (ClientWatch.Watch _ = ClientWatch.start(() -> generations.forEach(Generation::abort))) {
            if (batch.stream()) {
                stream(batch, generations, since, response);
            } else {
                whole(batch, generations, since, response);
            }
        } finally {
            generations.forEach(Generation::abandon);
        }
    }

    private void whole(GenerateBatch batch, List<Generation> generations, long since, ServerResponse response) throws RejectedRequest, InterruptedException {
        List<GenerateResponse> all = new ArrayList<>();
        for (int i = 0; i < generations.size(); i++) {
            all.add(replies.reply(batch.requests().get(i), generations.get(i).await(), seconds(since), weightVersion.get(), OptionalInt.empty()));
        }
        EngineServer.json(response, 200, WireJson.write(batch.array() ? all : all.getFirst()));
    }

    private void stream(GenerateBatch batch, List<Generation> generations, long since, ServerResponse response) throws InterruptedException {
        response.headers().set(HeaderNames.CONTENT_TYPE, "text/event-stream; charset=utf-8");
        try (OutputStream out = response.outputStream(); ExecutorService tasks = Executors.newVirtualThreadPerTaskExecutor()) {
            ReentrantLock oneAtATime = new ReentrantLock();
            Sink sink = data -> {
                oneAtATime.lock();
                try {
                    out.write(("data: " + data + "\n\n").getBytes(StandardCharsets.UTF_8));
                    out.flush();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                } finally {
                    oneAtATime.unlock();
                }
            };
            List<Future<?>> streams = new ArrayList<>();
            for (int i = 0; i < generations.size(); i++) {
                Generation generation = generations.get(i);
                GenerateRequest ask = batch.requests().get(i);
                OptionalInt index = batch.array() ? OptionalInt.of(i) : OptionalInt.empty();
                streams.add(tasks.submit(() -> {
                    events(ask, generation, since, index, sink);
                    return true;
                }));
            }
            for (Future<?> one : streams) {
                try {
                    one.get();
                } catch (ExecutionException e) {
                    generations.forEach(Generation::abort);
                    throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
                }
            }
            sink.event(GenerateResponse.DONE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Sink {
        void event(String data);
    }

    private void events(GenerateRequest ask, Generation generation, long since, OptionalInt index, Sink sink) throws InterruptedException {
        try {
            Optional<GenerateResponse> before = Optional.empty();
            Generated generated;
            do {
                generated = generation.take();
                GenerateResponse now = replies.reply(ask, generated, seconds(since), weightVersion.get(), index);
                boolean delta = engine.options().incrementalStreamingOutput() && before.isPresent();
                sink.event(WireJson.write(delta ? replies.increment(ask, now, generated, before.get()) : now));
                before = Optional.of(now);
            } while (generated.finish().isEmpty());
        } catch (RejectedRequest e) {
            sink.event(ErrorReply.inStream(e.reply()));
        }
    }

    private static double seconds(long since) {
        return (System.nanoTime() - since) / 1e9;
    }
}
