package io.furlong.it.crash;

import io.furlong.cli.report.RunRecord;
import io.furlong.cli.run.TrainingRun;
import io.furlong.core.RegistryView;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A training run in a process of its own that says on its output what it does. Arguments: a run.yaml, and where given
 * the kind of move at which it dies.
 */
final class RunProcess {
    private static final int KILLED = 137;

    private RunProcess() {}

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        Optional<String> last = Arrays.stream(args).skip(1).findFirst();
        Moves moves = new Moves((move, path) -> {
            say(move.line());
            if (last.equals(Optional.of(move.kind()))) {
                Runtime.getRuntime().halt(KILLED);
            }
        }, sample -> say(sample.line()));
        InstantSource clock = InstantSource.system();
        try (RunRecord record = RunRecord.in(file.resolveSibling("record"), clock, List.of());
                TrainingRun run = TrainingRun.open(SmallRun.read(file), record, TrainingRun.Stop.WHEN_ALL_ENDED, clock, moves);
                RegistryView.Subscription _ = run.registry().onChange(moves::flipped)) {
            run.run();
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
