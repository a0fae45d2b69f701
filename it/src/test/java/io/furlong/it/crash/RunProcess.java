package io.furlong.it.crash;

import io.furlong.cli.report.RunRecord;
import io.furlong.cli.run.TrainingRun;
import io.furlong.core.RegistryView;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;

/** A training run in a process of its own that says on its output what it does. Argument: a run.yaml. */
final class RunProcess {
    static final String OPEN = "OPEN";
    static final String ENDED = "ENDED";

    private RunProcess() {}

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        Moves moves = new Moves((move, path) -> say(move.line()));
        InstantSource clock = InstantSource.system();
        try (RunRecord record = RunRecord.in(file.resolveSibling("record"), clock, List.of());
                TrainingRun run = TrainingRun.open(SmallRun.read(file), record, TrainingRun.Stop.WHEN_ALL_ENDED, clock, moves);
                RegistryView.Subscription _ = run.registry().onChange(moves::flipped)) {
            say(OPEN);
            run.run();
        }
        say(ENDED);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
