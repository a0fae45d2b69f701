package io.furlong.train.pretrain;

import io.furlong.torch.BaseModel;
import io.furlong.torch.Decoder;
import io.furlong.torch.LogProbs;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.ModelConfig.Biases;
import io.furlong.torch.ModelConfig.Embeddings;
import io.furlong.torch.ModelConfig.Family;
import io.furlong.torch.ModelConfig.HeadNorm;
import io.furlong.torch.Owner;
import io.furlong.torch.Rope;
import io.furlong.torch.Scope;
import io.furlong.torch.Sequence;
import io.furlong.torch.Torch;
import io.furlong.torch.TorchThread;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains the tiny base model from random weights on the {@link Corpus}, all parameters, and writes it as a Hugging Face directory.
 *
 * <p>One thread of one process and one order of everything: with the same options on the same machine every bit comes out the same.
 * The loss is the mean negative log-prob of response and end tokens; prompts are given, not learned. Batches are drawn as they come, all
 * tasks and lengths mixed: sorted by length a batch would hold one or two tasks, and the model would learn several times more slowly.
 */
public final class Pretrainer {
    static final int CONTEXT = 512;
    private static final double MAX_GRAD_NORM = 1.0;

    private final PretrainOptions options;
    private final Consumer<PretrainProgress> progress;
    private final InstantSource clock;

    /** @param progress called on the training thread */
    public Pretrainer(PretrainOptions options, Consumer<PretrainProgress> progress) {
        this(options, progress, InstantSource.system());
    }

    Pretrainer(PretrainOptions options, Consumer<PretrainProgress> progress, InstantSource clock) {
        this.options = options;
        this.progress = progress;
        this.clock = clock;
    }

    /** Sizes of the model it makes: Llama, 797,824 parameters. */
    public static ModelConfig modelConfig() {
        return new ModelConfig(Family.LLAMA, CharVocabulary.SIZE, 128, 384, 4, 4, 2, 32, 1e-6, Biases.NONE, HeadNorm.NONE, Embeddings.TIED,
                CONTEXT, new Rope(10_000, new Rope.None()), List.of(CharVocabulary.END));
    }

    /**
     * Trains to the end, which takes minutes.
     *
     * @return the scores of the finished model, a task each
     * @throws java.io.UncheckedIOException if the directory can't be written
     */
    public List<TaskScore> run() {
        try (TorchThread thread = new TorchThread("furlong-pretrain")) {
            Torch.useThreads(1);
            return thread.call(this::train);
        }
    }

    private List<TaskScore> train() {
        try (BaseModel random = BaseModel.random(modelConfig(), options.seed());
                BaseModel model = random.trainableCopy();
                Decoder decoder = new Decoder(model);
                Owner owner = new Owner()) {
            TensorVector parameters = owner.own(new TensorVector(model.parameters().toArray(Tensor[]::new)));
            AdamW optimizer = owner.own(optimizer(parameters));
            Corpus corpus = new Corpus(options.seed());
            Meter meter = new Meter();
            List<TaskScore> scores = List.of();
            for (long step = 0; step < options.steps(); step++) {
                List<Line> batch = corpus.next(options.batch()).stream().map(example -> Line.of(example.prompt(), example.response())).toList();
                optimizer.param_groups().get(0).options().set_lr(options.lrAt(step));
                meter.add(step(decoder, parameters, optimizer, batch), batch);
                boolean last = step + 1 == options.steps();
                boolean scored = last || (step + 1) % options.scoreEvery() == 0;
                if (scored) {
                    int prompts = last ? 4 * options.scorePrompts() : options.scorePrompts();
                    scores = Arrays.stream(Task.values()).map(task -> Scorer.score(decoder, task, prompts, 0)).toList();
                    new ModelDirectory(options).write(model, step + 1, scores);
                }
                if (scored || (step + 1) % options.reportEvery() == 0) {
                    progress.accept(meter.report(step + 1, scored ? scores : List.of()));
                }
            }
            return scores;
        }
    }

    private AdamW optimizer(TensorVector parameters) {
        AdamWOptions settings = new AdamWOptions(options.lr());
        // A pair of doubles whose order in memory is the C++ library's affair: the first is where the default 0.9 lies.
        DoublePointer betas = settings.betas();
        betas.put(betas.get(0) == 0.9 ? 1 : 0, 0.98);
        settings.weight_decay().put(0.01);
        return new AdamW(parameters, settings);
    }

    private static double step(Decoder decoder, TensorVector parameters, AdamW optimizer, List<Line> batch) {
        try (Scope scope = new Scope()) {
            Line.Targets targets = Line.targets(batch);
            Tensor hidden = decoder.forward(batch.stream().map(line -> Sequence.ofBase(line.input())).toList());
            Tensor selected = hidden.index_select(0, torch.tensor(targets.rows()));
            int[] tokens = Arrays.stream(targets.tokens()).mapToInt(Math::toIntExact).toArray();
            float[] temperatures = new float[tokens.length];
            Arrays.fill(temperatures, 1f);
            Tensor loss = LogProbs.of(decoder, selected, tokens, temperatures).mean().neg();
            optimizer.zero_grad();
            loss.backward();
            torch.clip_grad_norm_(parameters, MAX_GRAD_NORM, 2.0, true);
            optimizer.step();
            return loss.item_float();
        }
    }

    /** Rates since the last report and since the start. */
    private final class Meter {
        private final long start = clock.millis();
        private long last = start;
        private long tokens;
        private double loss;
        private int steps;

        void add(double stepLoss, List<Line> batch) {
            loss += stepLoss;
            steps++;
            tokens += batch.stream().mapToInt(line -> line.tokens().length - 1).sum();
        }

        PretrainProgress report(long step, List<TaskScore> scores) {
            long now = clock.millis();
            double seconds = Math.max(1, now - last) / 1000.0;
            Duration left = Duration.ofMillis(Math.round((double) (now - start) / step * (options.steps() - step)));
            PretrainProgress report = new PretrainProgress(step, options.steps(), loss / Math.max(1, steps), tokens / seconds, left, scores);
            last = now;
            tokens = 0;
            loss = 0;
            steps = 0;
            return report;
        }
    }
}
