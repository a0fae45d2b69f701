package io.furlong.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.cli.FurlongCommand;
import io.furlong.torch.Torch;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.bytedeco.pytorch.global.torch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code furlong bench}: runs what is named and prints figures, machine and versions. */
@Command(name = "bench", mixinStandardHelpOptions = true, description = "Measures decode, training, both at once, adapters together, what a fleet of engines asks for, and the control plane.",
        footer = {"", "Let nothing else run on the machine meanwhile.", "", "Example:", "  furlong bench decode train --shape tiny --threads 1", "  furlong bench chaos --seconds 60 --seed 2"})
public final class BenchCommand implements FurlongCommand {
    /** What can be measured. */
    enum What { DECODE, TRAIN, CONCURRENT, TOGETHER, CLIENT, PUBLISH, GAPS, CHAOS, CONTROL }

    @Parameters(arity = "1..*", paramLabel = "WHAT", description = "Any of: decode, train, concurrent, together, client, publish, gaps, chaos, control.")
    private List<What> what = List.of();

    @Option(names = "--shape", defaultValue = "TINY", description = "tiny or m135, for decode, train and gaps (default: tiny).")
    private Shape shape = Shape.TINY;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "1", description = "Threads inside one matrix product (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--repeat", paramLabel = "N", defaultValue = "5", description = "Repetitions; the median is printed (default: ${DEFAULT-VALUE}).")
    private int repeat;

    @Option(names = "--steps", paramLabel = "N", defaultValue = "10", description = "Optimizer steps of each run in together (default: ${DEFAULT-VALUE}).")
    private int steps;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "60", description = "How long chaos lasts (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of the faults in chaos (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--home", paramLabel = "DIR", defaultValue = ".", description = "Where models and examples are (default: the current directory).")
    private Path home = Path.of(".");

    @Option(names = "--json", description = "Prints one JSON object.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        Torch.useThreads(threads);
        List<Figure> figures = new ArrayList<>();
        Path root = home.toAbsolutePath().normalize();
        for (What w : what) {
            figures.addAll(switch (w) {
                case DECODE -> new DecodeBench(shape, repeat).run();
                case TRAIN -> new TrainingBench(shape, repeat).run();
                case CONCURRENT -> new ConcurrentBench(root.resolve("models/furlong-tiny"), repeat, Duration.ofSeconds(4)).run();
                case TOGETHER -> new TogetherBench(root, steps, repeat).run();
                case CLIENT -> new ClientBench(repeat).run();
                case PUBLISH -> new PublishBench(root.resolve("models/furlong-tiny"), repeat).run();
                case GAPS -> new TokenGapBench(root.resolve("models/furlong-tiny"), shape).run();
                case CONTROL -> new ControlBench(repeat).run();
                case CHAOS -> new ChaosBench(Duration.ofSeconds(seconds), seed).run();
            });
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(asJson(figures));
        } else {
            print(out, figures);
        }
        out.flush();
        return OK;
    }

    private void print(PrintWriter out, List<Figure> figures) {
        out.println(machine());
        for (Figure f : figures) {
            out.printf(Locale.ROOT, "%-62s %,12.2f %-6s%s%n", f.name(), f.median(), f.unit(),
                    f.target().map(t -> String.format(Locale.ROOT, " (target: %s %,.2f: %s)", t.side(), t.value(), t.metBy(f.median()) ? "met" : "missed")).orElse(""));
        }
    }

    private ObjectNode asJson(List<Figure> figures) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        ObjectNode root = mapper.createObjectNode().put("machine", machine()).put("threads", threads).put("repeat", repeat);
        ArrayNode list = root.putArray("figures");
        for (Figure f : figures) {
            ObjectNode one = list.addObject().put("name", f.name()).put("median", f.median()).put("unit", f.unit());
            f.target().ifPresent(t -> one.put("target", t.value()).put("target_side", t.side().toString()));
            f.runs().forEach(one.withArray("runs")::add);
        }
        return root;
    }

    private String machine() {
        return Runtime.getRuntime().availableProcessors() + " processors (" + System.getProperty("os.arch") + ", "
                + torch.get_cpu_capability().getString() + "), Java " + Runtime.version() + ", libtorch "
                + torch.class.getPackage().getImplementationVersion() + ", " + threads + " thread(s) a product";
    }
}
