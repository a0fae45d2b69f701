package io.furlong.cli;

import io.furlong.cli.config.RunConfig;
import io.furlong.cli.config.RunConfigReader;
import io.furlong.core.AdapterConfig;
import io.furlong.core.LoraConfig;
import io.furlong.sglang.Diagnosis;
import io.furlong.sglang.Doctor;
import io.furlong.sglang.Http;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.Torch;
import io.furlong.torch.tokenizer.HfTokenizer;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(name = "doctor", mixinStandardHelpOptions = true, description = "Checks this machine, and an SGLang server or router where one is named.",
        footer = {"", "Exit code 1 when something stands in the way of training.", "",
            "Example:", "  furlong doctor --engine http://127.0.0.1:30000 --config run.yaml"})
final class DoctorCommand implements FurlongCommand {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    @Option(names = "--engine", paramLabel = "URL", description = "The server or router to examine.")
    private Optional<String> engine = Optional.empty();

    @Option(names = "--config", paramLabel = "FILE", description = "A run.yaml: what it needs is what is asked for.")
    private Optional<Path> config = Optional.empty();

    @Option(names = "--api-key", paramLabel = "KEY", description = "The server's key, where it wants one.")
    private Optional<String> apiKey = Optional.empty();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        Optional<RunConfig> run = config.map(file -> RunConfigReader.read(file, RunConfigReader.Overrides.NONE));
        boolean fit = machine(out);
        if (run.isPresent()) {
            ModelConfig model = ModelConfig.read(run.get().model());
            out.println("model    " + run.get().model() + ": " + model.family() + ", " + model.layers() + " layers, context " + model.contextLength());
        }
        if (engine.isPresent()) {
            fit &= examine(out, URI.create(engine.get()), run);
        }
        out.println(fit ? "nothing stands in the way" : "see the problems above");
        return fit ? OK : FAILED;
    }

    private static boolean machine(PrintWriter out) {
        Runtime jvm = Runtime.getRuntime();
        out.println("java     " + Runtime.version() + ", " + jvm.availableProcessors() + " cores, heap up to " + (jvm.maxMemory() >> 20) + " MiB");
        Torch.useThreads(1);
        out.println("libtorch loads, on the CPU");
        boolean passive = "PASSIVE".equalsIgnoreCase(System.getenv("OMP_WAIT_POLICY"));
        if (!passive) {
            out.println("PROBLEM  OMP_WAIT_POLICY is not PASSIVE: two threads are slower than one");
            out.println("         start Furlong with its own script, or set it before the JVM starts");
        }
        boolean writable = Files.isWritable(Path.of(System.getProperty("java.io.tmpdir")));
        if (!writable) {
            out.println("PROBLEM  " + System.getProperty("java.io.tmpdir") + " is not writable: native libraries can't be unpacked");
            out.println("         make room there, or set -Djava.io.tmpdir in FURLONG_JAVA_OPTS");
        }
        return passive && writable;
    }

    private boolean examine(PrintWriter out, URI url, Optional<RunConfig> run) throws Exception {
        int rank = run.map(r -> r.lora().maxRank()).orElse(8);
        List<String> targets = run.map(r -> r.adapters().values().stream().flatMap(a -> a.lora().targets().stream()).distinct().toList())
                .filter(t -> !t.isEmpty()).orElse(LoraConfig.ALL_LINEAR);
        int places = run.map(r -> r.adapters().values().stream().mapToInt(AdapterConfig::adapterPlaces).sum()).orElse(2) + 2;
        try (Http http = apiKey.map(Http::withKey).orElseGet(Http::open)) {
            Optional<HfTokenizer> tokenizer = run.isPresent() ? Optional.of(HfTokenizer.load(run.get().model())) : Optional.empty();
            try {
                Diagnosis d = Doctor.examine(http, url, new Doctor.Needs(rank, targets, places, tokenizer.map(t -> t)), PATIENCE);
                d.facts().forEach(fact -> out.println("engine   " + fact));
                out.println("plan     " + d.plan());
                for (Diagnosis.Finding finding : d.findings()) {
                    out.println(String.format("%-8s %s", finding.severity(), finding.what()));
                    if (!finding.remedy().isEmpty()) {
                        out.println("         " + finding.remedy());
                    }
                }
                return d.fit();
            } finally {
                tokenizer.ifPresent(HfTokenizer::close);
            }
        }
    }
}
