package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import io.furlong.core.HealthProbe;
import io.furlong.core.LoraConfig;
import io.furlong.core.LossConfig;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.RegistrationId;
import io.furlong.core.Sample;
import io.furlong.core.TrainBatch;
import io.furlong.torch.CheckpointException;
import io.furlong.torch.Decoder;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.PeftDirectory;
import io.furlong.torch.Scope;
import io.furlong.torch.TorchArtifact;
import io.furlong.train.ResponseScorer.Response;
import io.furlong.train.checkpoint.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainerTest {
    private static final Adapter ADAPTER = Bench.adapter("sums", Bench.config());
    private static final Set<String> STEP = Set.of("sums");

    @TempDir
    private Path directory;

    @Test
    void aPublishedVersionIsACopyThatFiftyMoreStepsDoNotTouch() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            Sample request = groups(7).getFirst().samples().getFirst();
            for (int step = 0; step < 11; step++) {
                trainer.train(Bench.batch(STEP, groups(step)));
            }
            try (TorchArtifact twelve = trainer.prepare("sums", 12, directory).artifact()) {
                float[] before = score(request, twelve.weights());
                String digest = twelve.weights().digest();
                for (int step = 0; step < 50; step++) {
                    trainer.train(Bench.batch(STEP, groups(step)));
                }
                assertThat(score(request, twelve.weights())).isEqualTo(before);
                assertThat(twelve.weights().digest()).isEqualTo(digest).isEqualTo(twelve.stamp().digest());
                try (TorchArtifact later = trainer.prepare("sums", 13, directory).artifact()) {
                    assertThat(score(request, later.weights())).isNotEqualTo(before);
                    assertThat(later.stamp().step()).isEqualTo(61);
                }
            }
        }
    }

    @Test
    void theArtifactIsWhatIsInItsDirectory() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            trainer.train(Bench.batch(STEP, groups(0)));
            Prepared prepared = trainer.prepare("sums", 1, directory);
            try (TorchArtifact artifact = prepared.artifact(); LoraWeights file = PeftDirectory.read(artifact.materialise(), Bench.BASE.config())) {
                assertThat(file.digest()).isEqualTo(artifact.stamp().digest());
                assertThat(artifact.stamp().servedName()).isEqualTo(artifact.materialise().getFileName().toString())
                        .isEqualTo("sums." + ADAPTER.registration().shortHex() + "@v1-" + file.digest().substring(0, 12));
                assertThat(artifact.targets()).containsExactly("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj");
                assertThat(artifact.rank()).isEqualTo(4);
                assertThat(artifact.probeLogProbs()).hasSize(artifact.probeTokens().length - 1).isNotEqualTo(artifact.probeBaseLogProbs());
                assertThat(prepared.checkpointDigest()).isEqualTo(Checkpoint.open(prepared.checkpoint()).digest());
            }
        }
    }

    @Test
    void aVersionIsNeverWrittenTwice() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            trainer.prepare("sums", 1, directory).artifact().close();
            assertThatThrownBy(() -> trainer.prepare("sums", 1, directory)).isInstanceOf(IOException.class)
                    .hasMessageContaining("adapter 'sums'").hasMessageContaining("@v1-");
        }
    }

    @Test
    void aRestoredCheckpointGoesOnBitForBit() throws IOException {
        OptimizerConfig optimizer = new OptimizerConfig("adamw", 1e-3, "cosine", 2, 0.9, 0.95, 1e-8, 0.01, 1.0);
        // An alpha that alpha / rank can't give back exactly.
        Adapter adapter = Bench.adapter("sums", Bench.config(new LoraConfig(3, 10, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, optimizer, 1));
        String uninterrupted;
        try (Trainer trainer = trainer(TrainerOptions.DETERMINISTIC)) {
            trainer.attach(adapter, new Start.Fresh(1));
            for (int step = 0; step < 6; step++) {
                trainer.train(Bench.batch(STEP, groups(step)));
            }
            uninterrupted = digest(trainer, 1);
        }
        Prepared half;
        try (Trainer trainer = trainer(TrainerOptions.DETERMINISTIC)) {
            trainer.attach(adapter, new Start.Fresh(1));
            for (int step = 0; step < 3; step++) {
                trainer.train(Bench.batch(STEP, groups(step)));
            }
            half = trainer.prepare("sums", 2, directory);
            half.artifact().close();
            // Accumulated and lost: not part of the checkpoint.
            trainer.train(Bench.batch(Set.of(), groups(3)));
        }
        try (Trainer trainer = trainer(TrainerOptions.DETERMINISTIC)) {
            assertThat(trainer.attach(adapter, new Start.Continue(half.checkpoint())).step()).isEqualTo(3);
            try (TorchArtifact again = trainer.reopen("sums", half.checkpoint()).artifact()) {
                assertThat(again.stamp()).isEqualTo(half.artifact().stamp());
                assertThat(again.materialise()).isEqualTo(half.checkpoint());
            }
            for (int step = 3; step < 6; step++) {
                AdapterReport report = trainer.train(Bench.batch(STEP, groups(step))).adapters().get("sums");
                assertThat(report.outcome()).isInstanceOfSatisfying(StepOutcome.Stepped.class, s -> assertThat(s.lr()).isLessThan(1e-3));
            }
            assertThat(digest(trainer, 3)).isEqualTo(uninterrupted);
        }
    }

    @Test
    void aCheckpointOfAnotherShapeIsRefusedInOneLine() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            Path saved = trainer.prepare("sums", 1, directory).checkpoint();
            trainer.detach("sums");
            assertRefused(trainer, new LoraConfig(8, 16, LoraConfig.ALL_LINEAR), saved, "has rank 4, the configuration asks for rank 8");
            assertRefused(trainer, new LoraConfig(4, 16, LoraConfig.ALL_LINEAR), saved, "has alpha 8.0");
            assertRefused(trainer, new LoraConfig(4, 8, List.of("q_proj")), saved, "the configuration asks for q_proj");
            Files.writeString(saved.resolve("training/state.json"), "{}");
            assertRefused(trainer, new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), saved, "the file has changed");
            assertRefused(trainer, new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), directory.resolve("nowhere"), "this is not a checkpoint");
        }
    }

    @Test
    void atAgeZeroTheRatioIsOneWhatEverTheTemperature() throws IOException {
        try (Trainer trainer = trainer(new TrainerOptions(TrainerOptions.Order.BY_ADAPTER, 500, TrainerOptions.Gap.ALL_GROUPS));
                TorchArtifact first = first(trainer)) {
            for (double temperature : new double[] {0.7, 1.0, 1.3}) {
                List<Group> groups = sampledBy(first.weights(), temperature, 0);
                AdapterReport report = trainer.train(Bench.batch(Set.of(), groups)).adapters().get("sums");
                assertThat(report.ages()).hasSize(1);
                assertThat(report.ages().getFirst().age()).isZero();
                assertThat(report.ages().getFirst().meanRatio()).isCloseTo(1, within(1e-4));
                assertThat(report.ages().getFirst().maxDrift()).isLessThan(1e-4);
                assertThat(report.gap().orElseThrow().max()).isLessThan(5e-5);
            }
        }
    }

    @Test
    void theGapIsUnderTheWeightsThatSampledAndDriftUnderTheOnesNow() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT); TorchArtifact first = first(trainer)) {
            List<Group> old = sampledBy(first.weights(), 1, 0);
            trainer.train(Bench.batch(STEP, old));
            try (TorchArtifact second = trainer.prepare("sums", 2, directory).artifact()) {
                AdapterReport report = trainer.train(Bench.batch(STEP, old)).adapters().get("sums");
                assertThat(report.maxAge()).isEqualTo(1);
                assertThat(report.ages().getFirst().meanDrift()).isGreaterThan(1e-4);
                assertThat(report.gap().orElseThrow().max()).isLessThan(5e-5);
                assertThat(second.stamp().step()).isEqualTo(1);
            }
        }
    }

    @Test
    void threeVetoesInARowAreCountedAndAStepEndsTheCount() {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            for (int veto = 1; veto <= Trainer.VETOES_THAT_FAIL; veto++) {
                assertThat(vetoed(trainer, broken()).inARow()).isEqualTo(veto);
            }
            assertThat(trainer.train(Bench.batch(STEP, groups(0))).adapters().get("sums").outcome())
                    .isInstanceOfSatisfying(StepOutcome.Stepped.class, s -> assertThat(s.step()).isEqualTo(1));
            assertThat(vetoed(trainer, broken()).inARow()).isEqualTo(1);
        }
    }

    @Test
    void aLearningRateThatMakesWeightsInfiniteIsVetoedAndChangesNothing() {
        OptimizerConfig optimizer = new OptimizerConfig("adamw", 1e300, "constant", 0, 0.9, 0.95, 1e-8, 0.01, 1.0);
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(Bench.adapter("sums", Bench.config(new LoraConfig(4, 8, LoraConfig.ALL_LINEAR), LossConfig.DEFAULT, optimizer, 1)), new Start.Fresh(1));
            String before = digest(trainer, 1);
            assertThat(vetoed(trainer, groups(0)).reason()).contains("learning rate");
            assertThat(digest(trainer, 2)).isEqualTo(before);
        }
    }

    @Test
    void aTokenOutsideTheVocabularyIsItsAdaptersFaultAlone() {
        Adapter other = Bench.adapter("other", Bench.config());
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            trainer.attach(other, new Start.Fresh(2));
            List<Group> bad = groups(0);
            bad.getFirst().samples().getFirst().responseIds()[0] = Bench.VOCAB;
            List<Group> both = new java.util.ArrayList<>(bad);
            both.addAll(Bench.groups(other, 4, 4, 0, 0.1));
            TrainReport report = trainer.train(new TrainBatch(both, Set.of("sums", "other"), 1));
            assertThat(report.adapters().get("sums").outcome()).isInstanceOfSatisfying(StepOutcome.Vetoed.class,
                    v -> assertThat(v.reason()).contains("token id 96 is not in the vocabulary of 96"));
            assertThat(report.adapters().get("other").outcome()).isInstanceOf(StepOutcome.Stepped.class);
        }
    }

    @Test
    void aDiscardedGradientLeavesNoTrace() {
        try (Trainer trainer = trainer(TrainerOptions.DETERMINISTIC)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            trainer.train(Bench.batch(Set.of(), groups(1)));
            assertThat(trainer.discard("sums")).isEqualTo(4);
            trainer.train(Bench.batch(STEP, groups(0)));
            String after = digest(trainer, 1);
            trainer.detach("sums");
            trainer.attach(ADAPTER, new Start.Fresh(1));
            trainer.train(Bench.batch(STEP, groups(0)));
            assertThat(digest(trainer, 2)).isEqualTo(after);
        }
    }

    @Test
    void groupsOfAnEarlierRegistrationAreRefused() {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(Bench.adapter("sums", RegistrationId.random(), Bench.config()), new Start.Fresh(1));
            TrainReport report = trainer.train(Bench.batch(Set.of(), groups(0)));
            assertThat(report.refused()).hasSize(4);
            assertThat(report.adapters()).isEmpty();
            assertThat(trainer.discard("sums")).isZero();
        }
    }

    @Test
    void groupsWithoutAdvantageCountButNeedNoForward() {
        List<Group> flat = groups(0).stream().map(TrainerTest::withEqualRewards).toList();
        List<Group> some = groups(1);
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            TrainReport none = trainer.train(Bench.batch(Set.of(), flat));
            assertThat(none.microBatches()).isZero();
            assertThat(none.adapters().get("sums").zeroAdvantage()).isEqualTo(4);
            AdapterReport report = trainer.train(Bench.batch(STEP, some)).adapters().get("sums");
            assertThat(report.outcome()).isInstanceOfSatisfying(StepOutcome.Stepped.class, s -> assertThat(s.samples()).isEqualTo(32));
        }
    }

    @Test
    void trainCallsLeaveNothingBehindInNativeMemory() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            List<Group> groups = groups(0).subList(0, 1);
            round(trainer, groups, 1, 4);
            long before = Pointer.totalCount();
            round(trainer, groups, 4, 100);
            // Less when garbage of other tests was collected meanwhile.
            assertThat(Pointer.totalCount()).isLessThanOrEqualTo(before);
            trainer.detach("sums");
            assertThat(Pointer.totalCount()).isLessThan(before);
        }
    }

    @Test
    @Tag("slow")
    void fiveThousandTrainCallsLeaveMemoryFlat() throws IOException {
        try (Trainer trainer = trainer(TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            List<Group> groups = groups(0).subList(0, 1);
            round(trainer, groups, 1, 500);
            long pointers = Pointer.totalCount();
            long bytes = Pointer.physicalBytes();
            round(trainer, groups, 500, 5000);
            assertThat(Pointer.totalCount()).isLessThanOrEqualTo(pointers);
            assertThat(Pointer.physicalBytes() - bytes).isLessThan(32L << 20);
        }
    }

    private void round(Trainer trainer, List<Group> groups, int from, int to) throws IOException {
        for (int i = from; i < to; i++) {
            trainer.train(Bench.batch(STEP, groups));
            if (i % 50 < 3) {
                trainer.prepare("sums", i, directory).artifact().close();
            }
        }
    }

    @Test
    void saysWhetherItCanWork() {
        Trainer trainer = trainer(TrainerOptions.DEFAULT);
        trainer.attach(ADAPTER, new Start.Fresh(1));
        assertThat(trainer.health().check()).isEqualTo(new HealthProbe.Health(HealthProbe.Health.Status.UP, "1 adapters, 0 batches trained"));
        trainer.close();
        assertThat(trainer.health().check().status()).isEqualTo(HealthProbe.Health.Status.DOWN);
    }

    private static Trainer trainer(TrainerOptions options) {
        return new Trainer(Bench.BASE, "llama-gqa", options);
    }

    private TorchArtifact first(Trainer trainer) throws IOException {
        trainer.attach(ADAPTER, new Start.Fresh(1));
        trainer.train(Bench.batch(STEP, groups(0)));
        trainer.detach("sums");
        trainer.attach(ADAPTER, new Start.Fresh(1));
        return trainer.prepare("sums", 1, directory).artifact();
    }

    private static List<Group> groups(long seed) {
        return Bench.groups(ADAPTER, 4, 4, seed, 0.1);
    }

    private static List<Group> broken() {
        List<Group> groups = groups(0);
        groups.getFirst().samples().getFirst().logProbs()[0] = Float.NaN;
        return groups;
    }

    private static StepOutcome.Vetoed vetoed(Trainer trainer, List<Group> groups) {
        return (StepOutcome.Vetoed) trainer.train(Bench.batch(STEP, groups)).adapters().get("sums").outcome();
    }

    private String digest(Trainer trainer, long version) {
        try (TorchArtifact artifact = trainer.prepare("sums", version, directory).artifact()) {
            return artifact.stamp().digest();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertRefused(Trainer trainer, LoraConfig lora, Path checkpoint, String why) {
        Adapter adapter = Bench.adapter("sums", Bench.config(lora, LossConfig.DEFAULT, OptimizerConfig.DEFAULT, 1));
        assertThatThrownBy(() -> trainer.attach(adapter, new Start.Continue(checkpoint))).isInstanceOf(CheckpointException.class)
                .hasMessageContaining(why).message().doesNotContain("\n");
    }

    private static Group withEqualRewards(Group group) {
        return new Group(group.adapter(), group.registration(), group.dispatch(), group.prompt(),
                group.samples().stream().map(s -> s.withReward(0.5)).toList(), group.stamp(), group.policyStep());
    }

    /** Groups whose log-probs an engine with these weights would have returned. */
    private static List<Group> sampledBy(LoraWeights weights, double temperature, long seed) {
        return groups(seed).stream().map(g -> new Group(g.adapter(), g.registration(), g.dispatch(), g.prompt(), g.samples().stream().map(s -> {
            Sample bare = Bench.sample(s.index(), s.promptIds(), s.responseIds(), s.logProbs(), temperature, s.reward(), s.stamp());
            return Bench.sample(s.index(), s.promptIds(), s.responseIds(), score(bare, weights), temperature, s.reward(), s.stamp());
        }).toList(), g.stamp(), g.policyStep())).toList();
    }

    private static float[] score(Sample sample, LoraWeights weights) {
        try (Scope scope = new Scope(); Decoder decoder = new Decoder(Bench.BASE)) {
            return new ResponseScorer(decoder).score(List.of(new Response(sample, Optional.of(weights))));
        }
    }
}
