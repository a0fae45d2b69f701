package io.furlong.cli;

import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.sglang.EngineException;
import io.furlong.sglang.Http;
import io.furlong.sglang.SglangClient;
import io.furlong.torch.Torch;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.LoraReply;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Where a one-off command generates: on an engine of its own, or on a server that is there already. One door for both. */
final class Endpoint implements AutoCloseable {
    private static final Duration DEADLINE = Duration.ofMinutes(10);
    private static final String ADAPTER = "adapter";

    private final Http http;
    private final Optional<EngineServer> own;
    private final SglangClient client;
    private final Optional<String> adapter;

    private Endpoint(Http http, Optional<EngineServer> own, SglangClient client, Optional<String> adapter) {
        this.http = http;
        this.own = own;
        this.client = client;
        this.adapter = adapter;
    }

    /** What people say about it on the command line. */
    static final class Options {
        @Option(names = "--model", paramLabel = "DIR", description = "Hugging Face model directory (default: the shipped furlong-tiny).")
        private Optional<Path> model = Optional.empty();

        @Option(names = "--adapter", paramLabel = "DIR|NAME", description = "A PEFT directory; with --engine the name of an adapter that it serves (default: the base model).")
        private Optional<String> adapter = Optional.empty();

        @Option(names = "--engine", paramLabel = "URL", description = "Ask this SGLang server instead of an engine of our own.")
        private Optional<String> engine = Optional.empty();

        Path model() {
            Path dir = model.orElseGet(() -> Home.directory().resolve("models/furlong-tiny"));
            if (!Files.isRegularFile(dir.resolve("config.json"))) {
                throw new Mistake("--model: got '" + dir + "', must be a Hugging Face model directory (there is no config.json in it)");
            }
            return dir;
        }

        Endpoint open() throws EngineException, InterruptedException {
            return engine.isPresent() ? at(URI.create(engine.get()), adapter) : local(model(), adapter.map(Path::of));
        }
    }

    private static Endpoint at(URI url, Optional<String> adapter) {
        Http http = Http.open();
        return new Endpoint(http, Optional.empty(), new SglangClient(http, url), adapter);
    }

    private static Endpoint local(Path model, Optional<Path> adapter) throws EngineException, InterruptedException {
        Torch.useThreads(Runtime.getRuntime().availableProcessors());
        EngineServer server = EngineServer.start(EngineOptions.of(model));
        Http http = Http.open();
        SglangClient client = new SglangClient(http, URI.create("http://127.0.0.1:" + server.port()));
        Endpoint endpoint = new Endpoint(http, Optional.of(server), client, adapter.map(dir -> ADAPTER));
        if (adapter.isPresent()) {
            LoraReply reply = client.loadAdapter(LoadLoraRequest.of(ADAPTER, adapter.get().toAbsolutePath().normalize().toString()), DEADLINE);
            if (!reply.success()) {
                endpoint.close();
                throw new Mistake("--adapter: " + reply.errorMessage().orElse(adapter.get() + " was refused"));
            }
        }
        return endpoint;
    }

    /** One answer under the adapter, or the base where there is none. Safe for many threads. */
    GenerateResponse generate(GenerateRequest request) throws EngineException, InterruptedException {
        return client.generate(adapter.map(request::withAdapter).orElse(request), DEADLINE);
    }

    @Override
    public void close() {
        http.close();
        own.ifPresent(EngineServer::close);
    }
}
