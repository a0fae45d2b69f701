package io.furlong.cli;

import io.furlong.train.pretrain.PretrainOptions;
import io.furlong.train.pretrain.Pretrainer;
import io.furlong.train.pretrain.TaskDataset;
import io.furlong.train.pretrain.TaskScore;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(name = "pretrain", mixinStandardHelpOptions = true, description = "Makes the tiny base model that the quickstart trains adapters on.",
        footer = {"", "The same seed gives the same bytes on the same machine.", "",
            "Example:", "  furlong pretrain --output /tmp/furlong-tiny --seed 1", "  furlong pretrain --datasets /tmp/quickstart"})
final class PretrainCommand implements FurlongCommand {
    @ArgGroup(exclusive = true, multiplicity = "1")
    private Wanted wanted;

    /** What to make: one of the two. */
    private static final class Wanted {
        @Option(names = "--output", paramLabel = "DIR", description = "The model directory to write.")
        private Optional<Path> output = Optional.empty();

        @Option(names = "--datasets", paramLabel = "DIR",
                description = "Trains nothing; writes the quickstart's training and held-out rows, a directory a task.")
        private Optional<Path> datasets = Optional.empty();
    }

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Decides corpus and first weights (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--brief", description = "Some seconds only, to see that it works; the model learns hardly anything.")
    private boolean brief;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        if (wanted.datasets.isPresent()) {
            for (TaskDataset dataset : TaskDataset.QUICKSTART) {
                Path directory = wanted.datasets.get().resolve(dataset.task().key());
                dataset.write(directory);
                out.println("dataset: " + directory);
            }
            return OK;
        }
        Path output = wanted.output.orElseThrow();
        PretrainOptions options = brief ? PretrainOptions.brief(output, seed) : PretrainOptions.full(output, seed);
        out.println("task              right at T=1   greedy   right or the known mistake");
        for (TaskScore score : new Pretrainer(options, p -> {
            spec.commandLine().getErr().println(p.line());
            spec.commandLine().getErr().flush();
        }).run()) {
            out.println(String.format(Locale.ROOT, "%-16s %10.1f %%  %5.1f %%  %5.1f %%", score.task().key(), 100 * score.right(),
                    100 * score.greedyRight(), 100 * score.competence()));
        }
        out.println("model: " + output);
        return OK;
    }
}
