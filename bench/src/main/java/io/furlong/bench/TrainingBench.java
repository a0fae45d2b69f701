package io.furlong.bench;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import io.furlong.core.TrainBatch;
import io.furlong.torch.BaseModel;
import io.furlong.train.Start;
import io.furlong.train.Trainer;
import io.furlong.train.TrainerOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Training tokens a second of the trainer itself: 16 sequences of 64 tokens, forward, backward, clip and AdamW on a rank 8 adapter. */
final class TrainingBench {
    private final Shape shape;
    private final int times;

    TrainingBench(Shape shape, int times) {
        this.shape = shape;
        this.times = times;
    }

    List<Figure> run() throws Exception {
        try (BaseModel model = shape.model(); Trainer trainer = new Trainer(model, shape.toString(), TrainerOptions.DEFAULT)) {
            Adapter adapter = Synthetic.adapter("bench");
            trainer.attach(adapter, new Start.Fresh(1));
            List<Group> groups = new ArrayList<>();
            for (int g = 0; g < 2; g++) {
                groups.add(Synthetic.group(adapter, g, 8, 1, 63, shape.config().vocabSize()));
            }
            TrainBatch batch = new TrainBatch(groups, Set.of("bench"), 1);
            Figure rate = Figure.of(shape + " training 16 x 64", "tok/s", Repeat.rates(times, () -> {
                int rounds = shape == Shape.TINY ? 8 : 1;
                long start = System.nanoTime();
                for (int i = 0; i < rounds; i++) {
                    trainer.train(batch);
                }
                return rounds * 16 * 64 / Repeat.seconds(start);
            }));
            return List.of(rate.atLeast(shape == Shape.TINY ? 7_500 : 150));
        }
    }
}
