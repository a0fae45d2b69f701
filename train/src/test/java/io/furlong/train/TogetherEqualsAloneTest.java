package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.TrainBatch;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.TorchArtifact;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who else is in a batch, and how an adapter's groups are spread over batches, makes no difference to its weights. */
class TogetherEqualsAloneTest {
    private static final OptimizerConfig OPTIMIZER = new OptimizerConfig("adamw", 1e-3, "cosine", 1, 0.9, 0.95, 1e-8, 0.01, 1.0);
    private static final Adapter FIRST = Bench.adapter("first", Bench.config(new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, OPTIMIZER, 1));
    private static final Adapter SECOND = Bench.adapter("second", Bench.config(new LoraConfig(8, 8, List.of("q_proj", "v_proj")),
            new LossConfig("grpo", 0.1, 0.1, 0.05), OPTIMIZER.withLr(3e-3), 1));
    private static final Adapter THIRD = Bench.adapter("third", Bench.config(new LoraConfig(2, 4, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, OPTIMIZER, 1));
    private static final int STEPS = 3;
    private static final int GROUPS = 16;

    @TempDir
    private Path directory;

    @Test
    void sixteenGroupsMakeTheSameStepInOneBatchInSixteenAndAmongOthers() {
        TrainerOptions options = new TrainerOptions(TrainerOptions.Order.BY_ADAPTER, 300, TrainerOptions.Gap.ONE_GROUP);
        Map<String, float[]> whole = trained(options, List.of(FIRST), GROUPS).get("first");
        assertSameStep(trained(options, List.of(FIRST), 1).get("first"), whole);
        assertSameStep(trained(options, List.of(FIRST, SECOND, THIRD), 5).get("first"), whole);
    }

    @Test
    void bitForBitInTheDeterministicSetting() {
        Map<String, float[]> whole = trained(TrainerOptions.DETERMINISTIC, List.of(FIRST), GROUPS).get("first");
        assertSameBits(trained(TrainerOptions.DETERMINISTIC, List.of(FIRST), 1).get("first"), whole);
        assertSameBits(trained(TrainerOptions.DETERMINISTIC, List.of(SECOND, FIRST, THIRD), 5).get("first"), whole);
    }

    @Test
    void threeAdaptersInSharedBatchesEndWhereEachEndsAlone() {
        for (TrainerOptions options : List.of(TrainerOptions.DEFAULT, TrainerOptions.DETERMINISTIC)) {
            List<Adapter> all = List.of(FIRST, SECOND, THIRD);
            Map<String, Map<String, float[]>> together = trained(options, all, 4);
            for (Adapter adapter : all) {
                Map<String, float[]> alone = trained(options, List.of(adapter), GROUPS).get(adapter.name());
                if (options.order() == TrainerOptions.Order.BY_GROUP) {
                    assertSameBits(together.get(adapter.name()), alone);
                } else {
                    assertSameStep(together.get(adapter.name()), alone);
                }
            }
        }
    }

    @Test
    void anAdapterThatGoesWrongLeavesTheOthersAsTheyWouldBeWithoutIt() {
        for (TrainerOptions options : List.of(TrainerOptions.DEFAULT, TrainerOptions.DETERMINISTIC)) {
            Map<String, float[]> without = trained(options, List.of(FIRST), 4).get("first");
            Adapter broken = Bench.adapter("broken", Bench.config(new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, OPTIMIZER, 1));
            Map<String, Map<String, float[]>> both = trained(options, List.of(broken, FIRST), 4);
            if (options.order() == TrainerOptions.Order.BY_GROUP) {
                assertSameBits(both.get("first"), without);
            } else {
                assertSameStep(both.get("first"), without);
            }
        }
    }

    /** Groups of one adapter that go into one train call. */
    private static int spread(int groups) {
        return groups;
    }

    /** Weights after {@link #STEPS} steps of {@link #GROUPS} groups each. An adapter called broken gets a sampling log-prob that isn't a number. */
    private Map<String, Map<String, float[]>> trained(TrainerOptions options, List<Adapter> adapters, int groupsPerCall) {
        try (Trainer trainer = new Trainer(Bench.BASE, "llama-gqa", options)) {
            adapters.forEach(a -> trainer.attach(a, new Start.Fresh(a.name().hashCode())));
            for (int step = 0; step < STEPS; step++) {
                Map<String, List<Group>> made = groups(adapters, step);
                for (int from = 0; from < GROUPS; from += groupsPerCall) {
                    List<Group> groups = new ArrayList<>();
                    Set<String> stepping = new HashSet<>();
                    for (Adapter a : adapters) {
                        groups.addAll(made.get(a.name()).subList(from, Math.min(from + groupsPerCall, GROUPS)));
                        if (from + groupsPerCall >= GROUPS) {
                            stepping.add(a.name());
                        }
                    }
                    TrainReport report = trainer.train(new TrainBatch(groups, stepping, 1));
                    stepping.forEach(name -> assertThat(report.adapters().get(name).outcome())
                            .isInstanceOf(name.equals("broken") ? StepOutcome.Vetoed.class : StepOutcome.Stepped.class));
                }
            }
            Map<String, Map<String, float[]>> weights = new LinkedHashMap<>();
            for (Adapter a : adapters) {
                weights.put(a.name(), weights(trainer, a));
            }
            return weights;
        }
    }

    private static Map<String, List<Group>> groups(List<Adapter> adapters, int step) {
        Map<String, List<Group>> made = new LinkedHashMap<>();
        for (Adapter a : adapters) {
            made.put(a.name(), Bench.groups(a, GROUPS, 4, 100L * step + a.name().hashCode(), 0.1));
            if (a.name().equals("broken")) {
                made.get(a.name()).getFirst().samples().getFirst().logProbs()[0] = Float.NaN;
            }
        }
        return made;
    }

    private int versions;

    private Map<String, float[]> weights(Trainer trainer, Adapter adapter) {
        try (TorchArtifact artifact = trainer.prepare(adapter.name(), ++versions, directory).artifact();
                LoraWeights lora = PeftDirectory.read(artifact.materialise(), Bench.BASE.config())) {
            return Bench.values(lora);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertSameBits(Map<String, float[]> ours, Map<String, float[]> theirs) {
        assertThat(ours.keySet()).isEqualTo(theirs.keySet());
        ours.forEach((name, values) -> assertThat(values).as(name).isEqualTo(theirs.get(name)));
    }

    /** Within 1e-5 for 99.9 % of the entries and 1e-4 for all: Adam magnifies rounding where a gradient is near zero. */
    private static void assertSameStep(Map<String, float[]> ours, Map<String, float[]> theirs) {
        assertThat(ours.keySet()).isEqualTo(theirs.keySet());
        int entries = 0;
        int off = 0;
        double worst = 0;
        for (String name : ours.keySet()) {
            for (int i = 0; i < ours.get(name).length; i++) {
                double difference = Math.abs(ours.get(name)[i] - theirs.get(name)[i]);
                worst = Math.max(worst, difference);
                entries++;
                off += difference > 1e-5 ? 1 : 0;
            }
        }
        assertThat(worst).isLessThanOrEqualTo(1e-4);
        assertThat((double) off / entries).isLessThanOrEqualTo(0.001);
        assertThat(entries).isPositive();
    }
}
