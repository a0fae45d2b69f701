package io.furlong.cli;

import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.torch.Torch;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** SGLang's flag names, where they mean the same. */
@Command(name = "engine", mixinStandardHelpOptions = true, description = "Serves a model, and adapters on it, over SGLang's HTTP API; Ctrl-C ends it.",
        footer = {"", "Example:", "  furlong engine --model models/furlong-tiny --port 30000 --enable-lora"})
final class EngineCommand implements FurlongCommand {
    @Option(names = {"--model", "--model-path"}, required = true, paramLabel = "DIR", description = "Hugging Face model directory.")
    private Path model = Path.of("");

    @Option(names = "--host", defaultValue = "127.0.0.1", description = "Address to listen on (default: ${DEFAULT-VALUE}).")
    private String host = "";

    @Option(names = "--port", defaultValue = "30000", description = "0 takes a free one (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(names = "--api-key", paramLabel = "KEY", description = "Bearer token that requests must carry; needed off loopback.")
    private Optional<String> apiKey = Optional.empty();

    @Option(names = "--served-model-name", paramLabel = "NAME", description = "Name of the base model in /v1/models.")
    private Optional<String> servedModelName = Optional.empty();

    @Option(names = "--enable-lora", description = "Adapters may be loaded.")
    private boolean enableLora;

    @Option(names = "--max-loras-per-batch", defaultValue = "" + EngineOptions.DEFAULT_LORAS_PER_BATCH, paramLabel = "N",
            description = "Distinct adapters in one step; others wait (default: ${DEFAULT-VALUE}).")
    private int maxLorasPerBatch;

    @Option(names = "--max-loaded-loras", paramLabel = "N", description = "Adapters held at once.")
    private Optional<Integer> maxLoadedLoras = Optional.empty();

    @Option(names = "--max-lora-rank", paramLabel = "N", description = "Highest rank that may be loaded.")
    private Optional<Integer> maxLoraRank = Optional.empty();

    @Option(names = "--adapter-root", paramLabel = "DIR", description = "Directory that adapters must lie in; may be given several times.")
    private List<Path> adapterRoots = new ArrayList<>();

    @Option(names = "--skip-tokenizer-init", description = "Token ids only, no text.")
    private boolean skipTokenizerInit;

    @Option(names = "--enable-deterministic-inference", description = "A seeded request answers the same bits whatever else is in the batch.")
    private boolean enableDeterministicInference;

    @Option(names = "--incremental-streaming-output", description = "Stream chunks carry what is new, not everything so far.")
    private boolean incrementalStreamingOutput;

    @Option(names = "--max-running-requests", defaultValue = "" + EngineOptions.DEFAULT_RUNNING_REQUESTS, paramLabel = "N",
            description = "Sequences in one step; others wait (default: ${DEFAULT-VALUE}).")
    private int maxRunningRequests;

    @Option(names = "--max-queued-requests", defaultValue = "" + EngineOptions.DEFAULT_QUEUED_REQUESTS, paramLabel = "N",
            description = "Waiting requests beyond which new ones get 503 (default: ${DEFAULT-VALUE}).")
    private int maxQueuedRequests;

    @Option(names = "--context-length", paramLabel = "N", description = "Prompt and response together (default: the model's own).")
    private Optional<Integer> contextLength = Optional.empty();

    @Option(names = "--max-total-tokens", paramLabel = "N", description = "Positions that the key-value cache may hold.")
    private Optional<Integer> maxTotalTokens = Optional.empty();

    @Option(names = "--random-seed", paramLabel = "N", description = "Seeds requests that bring no seed.")
    private Optional<Long> randomSeed = Optional.empty();

    @Option(names = "--threads", paramLabel = "N", description = "Threads a torch operation may use (default: one a core).")
    private Optional<Integer> threads = Optional.empty();

    @Option(names = "--log-json", description = "Events as JSON, one a line.")
    private boolean logJson;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        Logs.showEvents(logJson ? Logs.Form.JSON : Logs.Form.TEXT);
        EngineOptions options = options();
        Torch.useThreads(threads.orElse(Runtime.getRuntime().availableProcessors()));
        CountDownLatch asked = new CountDownLatch(1);
        try (Interruptions.Hold _ = Interruptions.onStop(asked::countDown, OK); EngineServer server = EngineServer.start(options)) {
            spec.commandLine().getOut().println("engine: " + model + " on http://" + host + ":" + server.port());
            spec.commandLine().getOut().flush();
            asked.await();
        }
        return OK;
    }

    private EngineOptions options() {
        try {
            EngineOptions.Builder b = EngineOptions.builder(model).host(host).port(port).enableLora(enableLora).maxLorasPerBatch(maxLorasPerBatch)
                    .adapterRoots(adapterRoots).skipTokenizerInit(skipTokenizerInit).enableDeterministicInference(enableDeterministicInference)
                    .incrementalStreamingOutput(incrementalStreamingOutput).maxRunningRequests(maxRunningRequests).maxQueuedRequests(maxQueuedRequests);
            apiKey.ifPresent(b::apiKey);
            servedModelName.ifPresent(b::servedModelName);
            maxLoadedLoras.ifPresent(b::maxLoadedLoras);
            maxLoraRank.ifPresent(b::maxLoraRank);
            contextLength.ifPresent(b::contextLength);
            maxTotalTokens.ifPresent(b::maxTotalTokens);
            randomSeed.ifPresent(b::randomSeed);
            return b.build();
        } catch (IllegalArgumentException e) {
            throw new Mistake(e.getMessage());
        }
    }
}
