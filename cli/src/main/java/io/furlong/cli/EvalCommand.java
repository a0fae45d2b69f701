package io.furlong.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.control.config.AdapterConfigReader;
import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.EvalConfig;
import io.furlong.core.FinishReason;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import io.furlong.core.RegistrationId;
import io.furlong.core.RewardFunction;
import io.furlong.core.Sample;
import io.furlong.core.SamplingConfig;
import io.furlong.core.Seeds;
import io.furlong.rollout.data.Datasets;
import io.furlong.rollout.reward.Rewards;
import io.furlong.rollout.reward.UnscorableException;
import io.furlong.torch.ModelConfig;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.SamplingParams;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "eval", mixinStandardHelpOptions = true, description = "Measures the base model or an adapter on the held-out rows of an adapter.yaml.",
        footer = {"", "Uses the file's eval section, or else its training data; reward and sampling are the file's.", "",
            "Example:", "  furlong eval examples/quickstart/sort/adapter.yaml --adapter runs/quickstart/sort"})
final class EvalCommand implements FurlongCommand {
    private static final PolicyStamp UNSTAMPED = new PolicyStamp(RegistrationId.random(), 1, 0, "0".repeat(64), "eval");
    private static final int AT_ONCE = 64;

    @Mixin
    private Endpoint.Options endpoint = new Endpoint.Options();

    @Parameters(paramLabel = "FILE", description = "An adapter.yaml.")
    private Path file = Path.of("");

    @Option(names = "--samples", paramLabel = "N", description = "Answers a prompt at the file's temperature, beside the greedy one (default: the file's).")
    private Optional<Integer> samples = Optional.empty();

    @Option(names = "--max-rows", paramLabel = "N", description = "(default: the file's)")
    private Optional<Integer> maxRows = Optional.empty();

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "(default: ${DEFAULT-VALUE})")
    private long seed;

    @Option(names = "--custom-reward", paramLabel = "CLASS", description = "A class that custom_rm_path of the file may name.")
    private Set<String> customRewards = Set.of();

    @Option(names = "--json", description = "As JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /** Rewards of one row; both empty when it can't be scored. */
    private record Row(List<Double> greedy, List<Double> sampled) {}

    @Override
    public Integer call() throws Exception {
        AdapterConfig config = AdapterConfigReader.plain(Path.of("")).readFile("eval", file);
        EvalConfig eval = config.eval().orElseGet(() -> new EvalConfig(config.data().path(), 0, 200, 0));
        int n = samples.orElse(eval.samples());
        Rewards rewards = new Rewards(customRewards);
        rewards.find(config.reward());
        List<Row> rows = new ArrayList<>();
        try (Endpoint engine = endpoint.open(); HfTokenizer tokenizer = HfTokenizer.load(endpoint.model());
                Datasets datasets = new Datasets(tokenizer, seed, ModelConfig.read(endpoint.model()).contextLength());
                PromptSource source = datasets.open("eval", config, heldOut(config.data(), eval));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Semaphore places = new Semaphore(AT_ONCE);
            List<Future<Row>> asked = new ArrayList<>();
            for (long i = 0; i < maxRows.orElse(eval.maxRows()); i++) {
                Optional<Prompt> prompt = source.at(0, i);
                if (prompt.isEmpty()) {
                    break;
                }
                asked.add(threads.submit(() -> row(engine, rewards.find(config.reward()), prompt.get(), config.sampling(), n, places)));
            }
            for (Future<Row> row : asked) {
                rows.add(row.get());
            }
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
        show(rows, n, config.sampling().temperature());
        return OK;
    }

    private static DataConfig heldOut(DataConfig d, EvalConfig eval) {
        return new DataConfig(eval.data(), d.inputKey(), d.labelKey(), d.metadataKey(), d.template(), DataConfig.Order.AS_WRITTEN, d.maxPromptTokens());
    }

    private Row row(Endpoint engine, RewardFunction reward, Prompt prompt, SamplingConfig sampling, int n, Semaphore places) throws Exception {
        places.acquire();
        try {
            double greedy = scored(engine, reward, prompt, sampling.withTemperature(0), 0);
            List<Double> sampled = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                sampled.add(scored(engine, reward, prompt, sampling, i));
            }
            return new Row(List.of(greedy), sampled);
        } catch (UnscorableException e) {
            return new Row(List.of(), List.of());
        } finally {
            places.release();
        }
    }

    private double scored(Endpoint engine, RewardFunction reward, Prompt prompt, SamplingConfig s, int index) throws Exception {
        SamplingParams params = SamplingParams.builder().temperature(s.temperature()).topP(s.topP()).topK(s.topK()).minP(s.minP())
                .frequencyPenalty(s.frequencyPenalty()).presencePenalty(s.presencePenalty()).repetitionPenalty(s.repetitionPenalty())
                .maxNewTokens(s.maxNewTokens()).minNewTokens(s.minNewTokens()).stop(s.stop()).stopTokenIds(s.stopTokenIds())
                .ignoreEos(s.eos() == SamplingConfig.IgnoreEos.IGNORE_EOS)
                .samplingSeed(Seeds.of("eval", seed, prompt.row(), index)).build();
        GenerateResponse answer = engine.generate(GenerateRequest.ofIds(prompt.tokenIds(), params));
        int[] ids = answer.outputIds();
        Sample sample = new Sample(index, prompt.tokenIds(), ids, new float[ids.length], new byte[ids.length], answer.text().orElse(""), FinishReason.STOP,
                s.temperature(), 0, UNSTAMPED, List.of(), "");
        return reward.score(prompt, sample);
    }

    private void show(List<Row> rows, int n, double temperature) {
        List<Double> greedy = rows.stream().flatMap(r -> r.greedy().stream()).toList();
        List<Double> sampled = rows.stream().flatMap(r -> r.sampled().stream()).toList();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectNode o = new ObjectMapper().createObjectNode().put("rows", rows.size()).put("unscorable", rows.size() - greedy.size())
                    .put("greedy_accuracy", right(greedy)).put("greedy_reward", mean(greedy));
            if (n > 0) {
                o.put("samples", n).put("temperature", temperature).put("sampled_accuracy", right(sampled)).put("sampled_reward", mean(sampled));
            }
            out.println(o);
            return;
        }
        out.println(String.format(Locale.ROOT, "%d rows%s, greedy: %.1f %% right, mean reward %.3f", rows.size(),
                greedy.size() < rows.size() ? " (" + (rows.size() - greedy.size()) + " can't be scored)" : "", 100 * right(greedy), mean(greedy)));
        if (n > 0) {
            out.println(String.format(Locale.ROOT, "%d answers a prompt at temperature %s: %.1f %% right, mean reward %.3f", n, temperature, 100 * right(sampled), mean(sampled)));
        }
    }

    private static double right(List<Double> rewards) {
        return rewards.stream().mapToDouble(r -> r >= 1 ? 1 : 0).average().orElse(0);
    }

    private static double mean(List<Double> rewards) {
        return rewards.stream().mapToDouble(Double::doubleValue).average().orElse(0);
    }
}
