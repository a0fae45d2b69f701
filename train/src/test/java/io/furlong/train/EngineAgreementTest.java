package io.furlong.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.furlong.core.Adapter;
import io.furlong.core.Group;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.Sample;
import io.furlong.core.VersionSpan;
import io.furlong.torch.Chunk;
import io.furlong.torch.Decoder;
import io.furlong.torch.KvCache;
import io.furlong.torch.LogProbs;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Scope;
import io.furlong.torch.Tensors;
import io.furlong.torch.TorchArtifact;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Log-probs from cached decoding, token by token, as an engine makes them, and from the trainer's whole-sequence forward are the same under the same weights. */
class EngineAgreementTest {
    private static final Adapter ADAPTER = Bench.adapter("sums", Bench.config());
    private static final int SAMPLES = 4;
    private static final int LENGTH = 12;

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(doubles = {0.7, 1.0, 1.3})
    void theGapIsRoundingAtEveryTemperatureAndAge(double temperature) throws IOException {
        try (Trainer trainer = new Trainer(Bench.BASE, "llama-gqa", new TrainerOptions(TrainerOptions.Order.BY_ADAPTER, 100, TrainerOptions.Gap.ALL_GROUPS))) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            trainer.train(Bench.batch(Set.of("sums"), Bench.groups(ADAPTER, 4, 4, 1, 0.1)));
            try (TorchArtifact first = trainer.prepare("sums", 1, directory).artifact()) {
                List<Group> groups = decoded(first, temperature);
                for (int age = 0; age < 2; age++) {
                    AdapterReport report = trainer.train(Bench.batch(Set.of("sums"), groups)).adapters().get("sums");
                    assertThat(report.gap().orElseThrow().max()).isLessThan(5e-5);
                    assertThat(report.gap().orElseThrow().tokens()).isGreaterThanOrEqualTo(2 * SAMPLES * LENGTH);
                    assertThat(report.maxAge()).isEqualTo(age);
                    trainer.prepare("sums", 2 + age, directory).artifact().close();
                }
            }
        }
    }

    @Test
    void aWrongTemperatureShowsAsAGap() throws IOException {
        try (Trainer trainer = new Trainer(Bench.BASE, "llama-gqa", TrainerOptions.DEFAULT)) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            try (TorchArtifact first = trainer.prepare("sums", 1, directory).artifact()) {
                List<Group> groups = decoded(first, 0.7).stream().map(g -> with(g, g.samples().stream()
                        .map(s -> Bench.sample(s.index(), s.promptIds(), s.responseIds(), s.logProbs(), 1.0, s.reward(), s.stamp())).toList())).toList();
                assertThat(trainer.train(Bench.batch(Set.of(), groups)).adapters().get("sums").gap().orElseThrow().max()).isGreaterThan(0.01);
            }
        }
    }

    @Test
    void anEngineThatIsOffShowsUnderItsOwnNameAndTheOtherDoesNot() throws IOException {
        try (Trainer trainer = new Trainer(Bench.BASE, "llama-gqa", new TrainerOptions(TrainerOptions.Order.BY_ADAPTER, 100, TrainerOptions.Gap.ALL_GROUPS))) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            try (TorchArtifact first = trainer.prepare("sums", 1, directory).artifact()) {
                List<Group> groups = decoded(first, 1.0).stream().map(g -> with(g, g.samples().stream().map(s -> s.index() % 2 == 0 ? by(s, "well", 0) : by(s, "off", 0.2f)).toList())).toList();
                AdapterReport report = trainer.train(Bench.batch(Set.of(), groups)).adapters().get("sums");
                assertThat(report.gapByEngine()).containsOnlyKeys("off", "well");
                AdapterReport.Gap off = report.gapByEngine().get("off");
                assertThat(off.mean()).isCloseTo(0.2, within(1e-3));
                assertThat(off.kl()).as("exp(0.2) - 1 - 0.2, in nats").isCloseTo(0.0214, within(1e-3));
                assertThat(off.outsideShare()).isEqualTo(1);
                assertThat(report.gapByEngine().get("well").max()).isLessThan(5e-5);
                assertThat(report.gapByEngine().get("well").outsideShare()).isZero();
                assertThat(report.gap().orElseThrow().outsideShare()).isEqualTo(0.5);
                assertThat(report.metrics()).containsKeys("engine_logprob_gap_max{engine=off}", "logprob_gap_kl_nats").containsEntry("logprob_gap_alarm", 0.0);
            }
        }
    }

    @Test
    void whereWeightsWereReplacedUnderASequenceEachTokenIsComparedUnderItsOwn() throws IOException {
        try (Trainer trainer = new Trainer(Bench.BASE, "llama-gqa", new TrainerOptions(TrainerOptions.Order.BY_ADAPTER, 100, TrainerOptions.Gap.ALL_GROUPS))) {
            trainer.attach(ADAPTER, new Start.Fresh(1));
            try (TorchArtifact first = trainer.prepare("sums", 1, directory).artifact()) {
                List<Group> old = decoded(first, 1.0);
                trainer.train(Bench.batch(Set.of("sums"), old));
                try (TorchArtifact second = trainer.prepare("sums", 2, directory).artifact()) {
                    List<Group> mixed = old.stream().map(g -> with(g, g.samples().stream().map(s -> continued(s, second.weights(), LENGTH / 2)).toList())).toList();
                    AdapterReport report = trainer.train(Bench.batch(Set.of(), mixed)).adapters().get("sums");
                    assertThat(report.gap().orElseThrow().max()).isLessThan(5e-5);
                    assertThat(report.gap().orElseThrow().tokens()).isEqualTo(2 * SAMPLES * LENGTH);
                    assertThat(report.ages().getFirst().maxDrift()).isGreaterThan(5e-5);
                }
            }
        }
    }

    /** Two groups, sampled at random token by token through prefill and decode. */
    private static List<Group> decoded(TorchArtifact artifact, double temperature) {
        Random random = new Random(7);
        List<Group> groups = new ArrayList<>();
        for (int g = 0; g < 2; g++) {
            int[] prompt = Bench.tokens(random, 5 + g);
            List<Sample> samples = new ArrayList<>();
            for (int i = 0; i < SAMPLES; i++) {
                int[] response = Bench.tokens(random, LENGTH);
                float[] logProbs = decode(artifact.weights(), prompt, response, temperature);
                samples.add(Bench.sample(i, prompt, response, logProbs, temperature, i % 2, artifact.stamp()));
            }
            groups.add(new Group("sums", ADAPTER.registration(), g, new Prompt(g, 0, "", prompt, "", Map.of(), 0, 0), samples, artifact.stamp(), artifact.stamp().step()));
        }
        return groups;
    }

    /** The log-prob of each response token, made as an engine does: the prompt in one go, then one token at a time on the cache. */
    private static float[] decode(LoraWeights weights, int[] prompt, int[] response, double temperature) {
        float[] logProbs = new float[response.length];
        Optional<LoraWeights> lora = Optional.of(weights);
        try (Scope scope = new Scope(); Decoder decoder = new Decoder(Bench.BASE); KvCache cache = new KvCache(Bench.BASE.config())) {
            Tensor hidden = decoder.prefill(cache, List.of(new Chunk(0, 0, prompt, lora))).narrow(0, prompt.length - 1, 1);
            for (int t = 0; t < response.length; t++) {
                logProbs[t] = Tensors.floats(LogProbs.of(decoder, hidden, new int[] {response[t]}, new float[] {(float) temperature}))[0];
                hidden = decoder.decode(cache, new int[] {response[t]}, new int[] {prompt.length + t}, List.of(lora));
            }
        }
        return logProbs;
    }

    /** The sample as it is when {@code weights} of version 2 took over at token {@code from}, the running sequence prefilled again. */
    private static Sample continued(Sample s, LoraWeights weights, int from) {
        float[] later = decode(weights, s.promptIds(), s.responseIds(), s.temperature());
        float[] logProbs = Arrays.copyOf(s.logProbs(), LENGTH);
        System.arraycopy(later, from, logProbs, from, LENGTH - from);
        PolicyStamp stamp = s.stamp();
        return new Sample(s.index(), s.promptIds(), s.responseIds(), logProbs, s.lossMask(), s.text(), s.finish(), s.temperature(), s.reward(), stamp,
                List.of(new VersionSpan(0, 1), new VersionSpan(from, 2)), s.engine());
    }

    /** The sample as if {@code engine} had made it, its log-probs too low by so much. */
    private static Sample by(Sample s, String engine, float nats) {
        float[] logProbs = s.logProbs().clone();
        for (int t = 0; t < logProbs.length; t++) {
            logProbs[t] -= nats;
        }
        return new Sample(s.index(), s.promptIds(), s.responseIds(), logProbs, s.lossMask(), s.text(), s.finish(), s.temperature(), s.reward(), s.stamp(), s.spans(), engine);
    }

    private static Group with(Group g, List<Sample> samples) {
        return new Group(g.adapter(), g.registration(), g.dispatch(), g.prompt(), samples, g.stamp(), g.policyStep());
    }
}
