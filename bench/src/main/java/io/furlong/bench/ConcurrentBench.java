package io.furlong.bench;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import io.furlong.core.TrainBatch;
import io.furlong.engine.Engine;
import io.furlong.engine.EngineOptions;
import io.furlong.engine.Generation;
import io.furlong.torch.BaseModel;
import io.furlong.train.Start;
import io.furlong.train.Trainer;
import io.furlong.train.TrainerOptions;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.SamplingParams;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Serving and training at once in one JVM, one thread each on one shared base, against each of them alone. Serving is the engine with its
 * scheduler and sampler, 64 requests in flight; training is the trainer at 16 × 64.
 */
final class ConcurrentBench {
    private static final int IN_FLIGHT = 64;
    private static final int TOKENS = 64;

    private final Path model;
    private final int times;
    private final Duration span;

    /** @param model a directory with tokenizer, such as the shipped base */
    ConcurrentBench(Path model, int times, Duration span) {
        this.model = model;
        this.times = times;
        this.span = span;
    }

    List<Figure> run() throws Exception {
        try (BaseModel base = BaseModel.load(model);
                Engine engine = Engine.start(EngineOptions.builder(model).maxRunningRequests(IN_FLIGHT).randomSeed(1).build(), base);
                Trainer trainer = new Trainer(base, "bench", TrainerOptions.DEFAULT);
                ExecutorService both = Executors.newFixedThreadPool(2)) {
            Adapter adapter = Synthetic.adapter("bench");
            trainer.attach(adapter, new Start.Fresh(1));
            List<Group> groups = new ArrayList<>();
            for (int g = 0; g < 2; g++) {
                groups.add(Synthetic.group(adapter, g, 8, 1, 63, base.config().vocabSize()));
            }
            TrainBatch batch = new TrainBatch(groups, Set.of("bench"), 1);
            Callable<Double> serving = () -> serve(engine, base.config().vocabSize());
            Callable<Double> training = () -> train(trainer, batch);
            List<Double> servedAlone = new ArrayList<>();
            List<Double> trainedAlone = new ArrayList<>();
            List<Double> served = new ArrayList<>();
            List<Double> trained = new ArrayList<>();
            serving.call();
            training.call();
            // Taken in turns, so that what warms up or drifts does so for both sides alike; the first round doesn't count.
            for (int i = 0; i <= times; i++) {
                double aloneServing = serving.call();
                double aloneTraining = training.call();
                Future<Double> one = both.submit(serving);
                Future<Double> other = both.submit(training);
                double bothServing = one.get();
                double bothTraining = other.get();
                if (i > 0) {
                    servedAlone.add(aloneServing);
                    trainedAlone.add(aloneTraining);
                    served.add(bothServing);
                    trained.add(bothTraining);
                }
            }
            Figure servingAlone = Figure.of("engine decode 64 in flight, alone", "tok/s", servedAlone);
            Figure trainingAlone = Figure.of("training 16 x 64, alone", "tok/s", trainedAlone);
            Figure servingBoth = Figure.of("engine decode 64 in flight, while training", "tok/s", served);
            Figure trainingBoth = Figure.of("training 16 x 64, while serving", "tok/s", trained);
            return List.of(servingAlone, servingBoth, Figure.share("serving at once against alone", servingBoth, servingAlone).atLeast(0.85),
                    trainingAlone, trainingBoth, Figure.share("training at once against alone", trainingBoth, trainingAlone).atLeast(0.85));
        }
    }

    /** Keeps 64 requests in flight; a new one for each that ends. */
    private double serve(Engine engine, int vocab) throws Exception {
        Random random = new Random(1);
        SamplingParams params = SamplingParams.builder().maxNewTokens(TOKENS).ignoreEos(true).build();
        List<Generation> open = new ArrayList<>();
        long tokens = 0;
        long start = System.nanoTime();
        while (System.nanoTime() - start < span.toNanos()) {
            while (open.size() < IN_FLIGHT) {
                open.add(engine.submit(GenerateRequest.ofIds(random.ints(16, 0, vocab).toArray(), params).withLogprobs()));
            }
            tokens += open.removeFirst().await().outputIds().length;
        }
        double rate = tokens / Repeat.seconds(start);
        engine.abortAll();
        for (Generation g : open) {
            g.await();
        }
        return rate;
    }

    private double train(Trainer trainer, TrainBatch batch) {
        long tokens = 0;
        long start = System.nanoTime();
        while (System.nanoTime() - start < span.toNanos()) {
            trainer.train(batch);
            tokens += 16 * 64;
        }
        return tokens / Repeat.seconds(start);
    }
}
