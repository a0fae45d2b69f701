package io.furlong.train;

import io.furlong.core.Group;
import io.furlong.core.Sample;
import io.furlong.core.TrainBatch;
import io.furlong.torch.Scope;
import io.furlong.torch.Tensors;
import io.furlong.train.EngineComparison.MadeBy;
import io.furlong.train.ResponseScorer.Response;
import io.furlong.train.loss.GroupAdvantage;
import io.furlong.train.loss.KlToBase;
import io.furlong.train.loss.PolicyLoss.Tokens;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * One train call, from groups to steps: take the groups in, run forward and backward over micro-batches, compare with the engine, step.
 * Lives on the trainer's thread for as long as the call.
 *
 * <p>Adapters share the products with the base and nothing else: each has its own rows, its own loss, its own gradient. What isn't finite, or can't
 * be computed, is a fault of the learner it belongs to.
 */
final class TrainCall {
    private final TrainBatch batch;
    private final Map<String, Learner> learners;
    private final ResponseScorer scorer;
    private final EngineComparison comparison;
    private final int vocabSize;
    private final TrainerOptions options;
    private final Map<String, Tally> tallies = new LinkedHashMap<>();
    private final List<Group> refused = new ArrayList<>();
    private final List<TrainingRow> rows = new ArrayList<>();
    private int microBatches;
    private long tokens;

    TrainCall(TrainBatch batch, Map<String, Learner> learners, ResponseScorer scorer, int vocabSize, TrainerOptions options) {
        this.batch = batch;
        this.learners = learners;
        this.scorer = scorer;
        this.comparison = new EngineComparison(scorer, options.tokensPerMicroBatch());
        this.vocabSize = vocabSize;
        this.options = options;
    }

    TrainReport run() {
        long start = System.nanoTime();
        batch.groups().forEach(this::take);
        batch.stepping().stream().filter(learners::containsKey).sorted().forEach(name -> tallies.computeIfAbsent(name, _ -> new Tally(learners.get(name))));
        compareWithEngine();
        MicroBatches.of(rows, options).forEach(this::forwardAndBackward);
        Map<String, AdapterReport> reports = step();
        return new TrainReport(reports, refused, microBatches, tokens, Duration.ofNanos(System.nanoTime() - start));
    }

    private void take(Group group) {
        Learner learner = learners.get(group.adapter());
        if (learner == null || !learner.registration().equals(group.registration())) {
            refused.add(group);
            return;
        }
        tallies.computeIfAbsent(group.adapter(), _ -> new Tally(learner)).add(group);
        List<Sample> trainable = group.samples().stream().filter(s -> s.trainedTokens() > 0).toList();
        learner.count(trainable.size());
        Optional<String> unusable = trainable.stream().flatMap(s -> problem(group, s).stream()).findFirst();
        unusable.ifPresent(learner::fault);
        if (unusable.isPresent()) {
            return;
        }
        float[] advantages = GroupAdvantage.of(group.rewards());
        for (int i = 0; i < advantages.length; i++) {
            Sample s = group.samples().get(i);
            // With advantage 0 and no KL term a sample's gradient is exactly 0: it counts, but need not be computed.
            if (s.trainedTokens() > 0 && (advantages[i] != 0 || learner.config().loss().kl() > 0)) {
                rows.add(TrainingRow.of(learner, group, s, advantages[i]));
            }
        }
    }

    private Optional<String> problem(Group group, Sample s) {
        String where = "row " + group.prompt().row() + " sample " + s.index() + ": ";
        for (int[] ids : List.of(s.promptIds(), s.responseIds())) {
            for (int id : ids) {
                if (id < 0 || id >= vocabSize) {
                    return Optional.of(where + "token id " + id + " is not in the vocabulary of " + vocabSize);
                }
            }
        }
        return s.temperature() > 0 ? Optional.empty() : Optional.of(where + "temperature is " + s.temperature() + ", must be above 0");
    }

    private void forwardAndBackward(List<TrainingRow> micro) {
        List<TrainingRow> live = micro.stream().filter(row -> !row.learner().faulty()).toList();
        if (live.isEmpty()) {
            return;
        }
        microBatches++;
        try (Scope scope = new Scope()) {
            tokens += live.stream().mapToInt(TrainingRow::length).sum();
            float[] base = scoreBase(live);
            Tensor logProbs = scorer.logProbs(live.stream().map(row -> new Response(row.sample(), Optional.of(row.learner().weights()))).toList());
            float[] now = Tensors.floats(logProbs);
            Optional<Tensor> total = Optional.empty();
            int at = 0;
            for (int from = 0; from < live.size();) {
                Learner learner = live.get(from).learner();
                int to = from;
                int n = 0;
                while (to < live.size() && live.get(to).learner() == learner) {
                    n += live.get(to++).tokens();
                }
                Tensor loss = loss(learner, live.subList(from, to), logProbs.narrow(0, at, n), now, base, at);
                learner.addLoss(loss.item_float());
                total = Optional.of(total.map(sum -> sum.add(loss)).orElse(loss));
                at += n;
                from = to;
            }
            total.orElseThrow().backward();
        } catch (RuntimeException e) {
            // What a torch operation refuses (memory, most likely) leaves gradients half added: nobody in this micro-batch can step on them.
            String reason = "a micro-batch of " + live.size() + " samples can't be computed: " + String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            live.forEach(row -> row.learner().fault(reason));
        }
    }

    /** Base log-probs of the rows whose loss has a KL term; 0 for the others, which don't read them. */
    private float[] scoreBase(List<TrainingRow> live) {
        float[] base = new float[live.stream().mapToInt(TrainingRow::tokens).sum()];
        List<TrainingRow> wanted = live.stream().filter(row -> row.learner().config().loss().kl() > 0).toList();
        float[] scored = scorer.score(wanted.stream().map(row -> new Response(row.sample(), Optional.empty())).toList());
        int at = 0;
        int from = 0;
        for (TrainingRow row : live) {
            if (row.learner().config().loss().kl() > 0) {
                System.arraycopy(scored, from, base, at, row.tokens());
                from += row.tokens();
            }
            at += row.tokens();
        }
        return base;
    }

    /** One adapter's loss in a micro-batch: the sum over its samples of the mean over their trained tokens. */
    private Tensor loss(Learner learner, List<TrainingRow> own, Tensor logProbs, float[] now, float[] base, int offset) {
        int n = (int) logProbs.numel();
        float[] old = new float[n];
        float[] advantage = new float[n];
        float[] weight = new float[n];
        double kl = learner.config().loss().kl();
        Tally tally = tallies.get(learner.name());
        int i = 0;
        for (TrainingRow row : own) {
            List<MadeBy> parts = MadeBy.of(row.sample());
            boolean present = parts.size() == 1 && learner.isPresent(parts.getFirst().version());
            for (int t = 0; t < row.sample().responseIds().length; t++) {
                if (row.sample().lossMask()[t] == 0) {
                    continue;
                }
                old[i] = row.sample().logProbs()[t];
                advantage[i] = row.advantage();
                weight[i] = 1f / row.tokens();
                tally.token(row, now[offset + i], old[i]);
                if (present) {
                    tally.gap(row.sample().engine(), now[offset + i], old[i]);
                }
                if (kl > 0) {
                    tally.kl(now[offset + i], base[offset + i]);
                }
                i++;
            }
        }
        Tensor weights = Tensor.create(weight, n);
        Tensor loss = learner.loss().weightedSum(new Tokens(logProbs, Tensor.create(old, n), Tensor.create(advantage, n), weights));
        if (kl == 0) {
            return loss;
        }
        float[] ownBase = Arrays.copyOfRange(base, offset, offset + n);
        return loss.add(KlToBase.weightedSum(logProbs, Tensor.create(ownBase, n), weights).mul(new Scalar(kl)));
    }

    /**
     * Scores groups again under the weights that made them, where those are still held. What the present weights made is compared in passing by
     * the forward that trains on it.
     */
    private void compareWithEngine() {
        List<EngineComparison.Ask> asks = new ArrayList<>();
        tallies.forEach((name, tally) -> {
            Learner learner = learners.get(name);
            if (learner.faulty()) {
                return;
            }
            Stream<Group> own = batch.groups().stream().filter(g -> g.adapter().equals(name) && g.registration().equals(learner.registration()));
            Stream<Group> compared = switch (options.gap()) {
                case ONE_GROUP -> batch.stepping().contains(name) ? own.limit(1) : Stream.empty();
                case ALL_GROUPS -> own;
            };
            compared.forEach(group -> asks.add(new EngineComparison.Ask(learner, group, tally)));
        });
        comparison.compare(asks);
    }

    private Map<String, AdapterReport> step() {
        Map<String, AdapterReport> reports = new LinkedHashMap<>();
        tallies.forEach((name, tally) -> {
            Learner learner = learners.get(name);
            reports.put(name, tally.report(batch.stepping().contains(name) ? learner.takeStep() : learner.accumulated()));
        });
        return reports;
    }
}
