package io.furlong.rollout;

import io.furlong.core.DataConfig;
import io.furlong.core.EvalConfig;
import io.furlong.core.Generator;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import io.furlong.core.Sample;
import io.furlong.core.SamplerException;
import io.furlong.core.Seeds;
import io.furlong.core.Tokenizer;
import io.furlong.rollout.reward.RewardRunner.RewardException;
import io.furlong.rollout.reward.UnscorableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;

/**
 * Measures one version on held-out prompts, greedily and at the adapter's temperature, through the same door as training: same
 * generator, same reward, same shared limit, of which it takes at most half, so that training goes on meanwhile.
 */
final class Evaluator {
    private static final int TRIES = 3;

    private final Requests requests;
    private final Generator generator;
    private final Tokenizer tokenizer;
    private final PromptSources sources;
    private final long runSeed;

    Evaluator(Requests requests, Generator generator, Tokenizer tokenizer, PromptSources sources, long runSeed) {
        this.requests = requests;
        this.generator = generator;
        this.tokenizer = tokenizer;
        this.sources = sources;
        this.runSeed = runSeed;
    }

    /** Rewards of one row; no greedy one when the row can't be scored. */
    private record Scores(Optional<Double> greedy, List<Double> sampled) {}

    /**
     * @param stamp pinned by the caller for as long as this runs
     * @param most  requests at once
     */
    Evaluation evaluate(AdapterStream stream, StreamKit kit, PolicyStamp stamp, EvalConfig eval, int most)
            throws SamplerException, RewardException, InterruptedException {
        List<FutureTask<Scores>> rows = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        Semaphore places = new Semaphore(Math.max(1, most / Math.max(1, eval.samples())));
        try (PromptSource source = sources.open(stream.name(), stream.config(), evalData(stream.config().data(), eval))) {
            for (long i = 0; i < eval.maxRows(); i++) {
                Optional<Prompt> prompt = source.at(0, i);
                if (prompt.isEmpty()) {
                    break;
                }
                FutureTask<Scores> row = new FutureTask<>(() -> {
                    places.acquire();
                    try {
                        return row(stream, kit, stamp, eval, prompt.get());
                    } finally {
                        places.release();
                    }
                });
                rows.add(row);
                threads.add(Thread.startVirtualThread(row));
            }
            return sum(stream.name(), stamp, rows);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case SamplerException s -> throw s;
                case RewardException r -> throw r;
                case InterruptedException i -> throw i;
                case RuntimeException r -> throw r;
                case Error err -> throw err;
                default -> throw new IllegalStateException(e.getCause());
            }
        } finally {
            threads.forEach(Thread::interrupt);
            for (Thread t : threads) {
                t.join();
            }
        }
    }

    /** The evaluation file, read as the training file is, in the order written. */
    static DataConfig evalData(DataConfig d, EvalConfig eval) {
        return new DataConfig(eval.data(), d.inputKey(), d.labelKey(), d.metadataKey(), d.template(), DataConfig.Order.AS_WRITTEN,
                d.maxPromptTokens());
    }

    private Scores row(AdapterStream stream, StreamKit kit, PolicyStamp stamp, EvalConfig eval, Prompt prompt)
            throws SamplerException, RewardException, InterruptedException {
        try {
            double greedy = score(kit, prompt, samples(stream, stamp, prompt, 1, Mode.GREEDY)).getFirst();
            List<Double> sampled = eval.samples() == 0 ? List.of()
                    : score(kit, prompt, samples(stream, stamp, prompt, eval.samples(), Mode.SAMPLED));
            return new Scores(Optional.of(greedy), sampled);
        } catch (UnscorableException e) {
            return new Scores(Optional.empty(), List.of());
        }
    }

    private enum Mode { GREEDY, SAMPLED }

    private List<Sample> samples(AdapterStream stream, PolicyStamp stamp, Prompt prompt, int n, Mode mode)
            throws SamplerException, InterruptedException {
        String affinity = stream.registration().shortHex() + ":eval:" + prompt.row();
        for (int attempt = 1; ; attempt++) {
            try (Requests.Places places = requests.places(0)) {
                Generator.Turn turn = (index, number, ids, sampling) -> requests.send(stream, stamp, ids,
                        mode == Mode.GREEDY ? sampling.withTemperature(0) : sampling,
                        Seeds.of("eval", runSeed, stream.name(), prompt.row(), index, number), affinity, places, () -> true);
                return generator.generate(new Generator.Request(stream.name(), stream.config(), prompt, n, stamp, turn, tokenizer));
            } catch (SamplerException e) {
                boolean hopeless = e.kind() == SamplerException.Kind.UNWANTED || e.kind() == SamplerException.Kind.REJECTED;
                if (hopeless || attempt == TRIES) {
                    throw e;
                }
            }
        }
    }

    private static List<Double> score(StreamKit kit, Prompt prompt, List<Sample> samples)
            throws RewardException, UnscorableException, InterruptedException {
        List<Double> rewards = new ArrayList<>();
        for (Sample s : samples) {
            rewards.add(kit.rewards().score(prompt, s));
        }
        return rewards;
    }

    private static Evaluation sum(String adapter, PolicyStamp stamp, List<FutureTask<Scores>> rows)
            throws ExecutionException, InterruptedException {
        List<Double> greedy = new ArrayList<>();
        List<Double> sampled = new ArrayList<>();
        int unscorable = 0;
        for (FutureTask<Scores> r : rows) {
            Scores s = r.get();
            s.greedy().ifPresent(greedy::add);
            sampled.addAll(s.sampled());
            unscorable += s.greedy().isEmpty() ? 1 : 0;
        }
        return new Evaluation(adapter, stamp, greedy.size(), unscorable, accuracy(greedy), mean(greedy), accuracy(sampled), mean(sampled));
    }

    private static double accuracy(List<Double> rewards) {
        return rewards.stream().mapToDouble(r -> r >= 1 ? 1 : 0).average().orElse(Double.NaN);
    }

    private static double mean(List<Double> rewards) {
        return rewards.stream().mapToDouble(Double::doubleValue).average().orElse(Double.NaN);
    }
}
