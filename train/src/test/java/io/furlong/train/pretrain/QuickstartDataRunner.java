package io.furlong.train.pretrain;

import java.io.IOException;
import java.nio.file.Path;

/** Writes the quickstart's dataset files again, into the directory given. */
final class QuickstartDataRunner {
    private QuickstartDataRunner() {}

    static void main(String[] args) throws IOException {
        for (TaskDataset dataset : TaskDataset.QUICKSTART) {
            dataset.write(Path.of(args[0], dataset.task().key()));
        }
    }
}
