package io.furlong.train.pretrain;

import java.nio.file.Path;

/** Makes a model from the command line of an IDE: output directory, seed, {@code full} or {@code brief}. */
final class PretrainRunner {
    private PretrainRunner() {}

    static void main(String[] args) {
        Path output = Path.of(args[0]);
        long seed = Long.parseLong(args[1]);
        PretrainOptions options = args[2].equals("full") ? PretrainOptions.full(output, seed) : PretrainOptions.brief(output, seed);
        new Pretrainer(options, progress -> IO.println(progress.line())).run();
    }
}
