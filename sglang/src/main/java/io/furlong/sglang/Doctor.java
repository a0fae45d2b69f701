package io.furlong.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.core.LoraConfig;
import io.furlong.core.Tokenizer;
import io.furlong.sglang.Diagnosis.Finding;
import io.furlong.sglang.Diagnosis.Severity;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.SamplingParams;
import io.furlong.wire.TokenLogprob;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Examines a server before a run does: what it is, what Furlong would use, what stands in the way and what to do about it. Sends a few
 * tokens to the base model and one request under a name that nobody has; changes nothing on the server.
 */
public final class Doctor {
    private static final String PROBE = "Furlong measures: 12 + 30 = 42, \u00e9t\u00e9, \u65e5\u672c.\n  Two  spaces.";
    private static final String NOBODY = "furlong-doctor.000000000000@v1-000000000000";

    private final Http http;
    private final Needs needs;
    private final Duration deadline;
    private final List<String> facts = new ArrayList<>();
    private final List<Finding> findings = new ArrayList<>();

    /**
     * What a run would need.
     *
     * @param rank      largest rank
     * @param targets   layers that adapters have
     * @param places    adapters beside each other: over all adapters max_staleness + 1, plus 2
     * @param tokenizer the trainer's; without one the two tokenizers are not compared
     */
    public record Needs(int rank, List<String> targets, int places, Optional<Tokenizer> tokenizer) {
        public Needs {
            targets = List.copyOf(targets);
        }
    }

    private Doctor(Http http, Needs needs, Duration deadline) {
        this.http = http;
        this.needs = needs;
        this.deadline = deadline;
    }

    /** @param deadline for each question */
    public static Diagnosis examine(Http http, URI url, Needs needs, Duration deadline) throws InterruptedException {
        return new Doctor(http, needs, deadline).examine(url);
    }

    private Diagnosis examine(URI url) throws InterruptedException {
        String plan = "none";
        try {
            Optional<Map<URI, String>> workers = new RouterClient(http, url).workers(deadline);
            if (workers.isPresent()) {
                router(url, workers.get());
                boolean slot = true;
                for (URI worker : workers.get().keySet()) {
                    slot &= engine(worker);
                }
                plan = "routing: router or direct, publish: " + (slot && !workers.get().isEmpty() ? "versioned or slot" : "versioned");
            } else {
                plan = "routing: direct, publish: " + (engine(url) ? "versioned or slot" : "versioned");
            }
        } catch (EngineException e) {
            problem(e.getMessage(), "start the server, or correct engine.url");
        }
        return new Diagnosis(url, facts, plan, findings);
    }

    private void router(URI url, Map<URI, String> workers) throws InterruptedException {
        facts.add(url + ": SGLang's router with " + workers.size() + " workers: " + workers.keySet());
        if (workers.isEmpty()) {
            problem(url + " has no workers", "start engines with --worker-urls, or add them with POST /workers");
        }
        note(url + " hides /load_lora_adapter and /abort_request, as every release does: Furlong speaks to the workers directly for these, so they must be reachable from here");
        warning("the router may repeat a request on another worker and counts unknown adapters as worker failures; its settings can't be read from outside",
                "start it with --disable-retries and --disable-circuit-breaker");
    }

    /** @return whether slot mode is possible there */
    private boolean engine(URI url) throws InterruptedException {
        SglangClient client = new SglangClient(http, url);
        try {
            JsonNode settings = client.settings(deadline);
            EngineFacts is = Facts.ask(client, deadline);
            facts.add(url + ": " + (is.embedded() ? "Furlong's embedded engine " : "SGLang ") + is.version() + ", model " + client.modelInfo(deadline).modelPath()
                    + ", dtype " + is.dtype().orElse("unknown"));
            facts.add(url + ": LoRA " + (is.loraEnabled() ? "on" : "off") + ", rank up to " + (is.maxRank().isPresent() ? is.maxRank().getAsInt() : "?") + ", layers "
                    + (is.targets().isEmpty() ? "?" : is.targets()) + ", places " + is.places() + ", context " + (is.context().isPresent() ? is.context().getAsInt() : "?"));
            lora(url, is);
            servers(url, settings, is);
            leftovers(url, client);
            adapterNamesCount(url, client);
            if (is.tokenizer()) {
                tokenizers(url, client);
            }
            logProbs(url, client);
            return is.inplaceUpsert();
        } catch (EngineException e) {
            problem(e.getMessage(), "start the server, or take it off the router");
            return false;
        }
    }

    private void lora(URI url, EngineFacts is) {
        if (!is.loraEnabled()) {
            problem(url + " runs without LoRA", "start it with --enable-lora --max-lora-rank " + needs.rank + " --lora-target-modules " + String.join(" ", needs.targets));
            return;
        }
        if (is.maxRank().isPresent() && is.maxRank().getAsInt() < needs.rank) {
            problem(url + " takes adapters up to rank " + is.maxRank().getAsInt() + ", " + needs.rank + " is needed", "start it with --max-lora-rank " + needs.rank);
        }
        List<String> missing = needs.targets.equals(LoraConfig.ALL_LINEAR) ? List.of() : needs.targets.stream().filter(t -> !is.targets(t)).toList();
        if (!missing.isEmpty()) {
            problem(url + " takes no adapters on " + missing, "start it with --lora-target-modules all, or name them");
        }
        if (is.places() < needs.places) {
            problem(url + " has " + is.places() + " adapter places, " + needs.places + " are needed", "start it with --max-loras-per-batch " + (is.embedded() ? needs.places : needs.places + 1)
                    + (is.embedded() ? "" : " (the base model takes one)") + ", or lower max_staleness or the number of adapters");
        }
    }

    private void servers(URI url, JsonNode settings, EngineFacts is) {
        if (settings.path("tokenizer_worker_num").asInt(1) > 1) {
            problem(url + " runs " + settings.path("tokenizer_worker_num") + " tokenizer workers, each with its own list of adapters", "start it with --tokenizer-worker-num 1");
        }
        if (settings.path("dp_size").asInt(1) > 1 && !settings.path("enable_dp_attention").asBoolean()) {
            problem(url + " runs dp_size " + settings.path("dp_size") + " without data-parallel attention, where adapters can't be loaded", "start it with --enable-dp-attention, or run one server each behind the router");
        }
        int loaded = settings.path("max_loaded_loras").asInt(0);
        if (!is.embedded() && loaded > 0 && loaded < needs.places * 8) {
            warning(url + " evicts adapters beyond " + loaded + " (--max-loaded-loras), by an unload that can hang for ever once a count has leaked", "start it without --max-loaded-loras");
        }
        if (!is.embedded() && older(is.version())) {
            warning(url + " is SGLang " + is.version() + "; before 0.5.17 some adapters of a mixed batch could lose their effect", "use 0.5.17 or newer");
        }
        if (settings.path("lora_use_virtual_experts").asBoolean()) {
            problem(url + " runs with --lora-use-virtual-experts, which computes gated layers wrongly", "start it without that flag");
        }
    }

    /** A server that answers under a name it was never given does not look at the name at all. */
    private void adapterNamesCount(URI url, SglangClient client) throws InterruptedException {
        try {
            client.generate(GenerateRequest.ofIds(new int[] {1, 2, 3}, SamplingParams.builder().maxNewTokens(1).build()).withRid(Rid.fresh("doctor")).withAdapter(NOBODY), deadline);
            problem(url + " answers under an adapter name that does not exist: it ignores lora_path and would serve the base model as every adapter",
                    "start it without SGLANG_RUST_SERVER=1");
        } catch (EngineException e) {
            if (e.kind() != EngineException.Kind.UNKNOWN_ADAPTER && e.kind() != EngineException.Kind.BAD_REQUEST) {
                problem(url + " fails on an unknown adapter: " + e.getMessage(), "look into the server's log");
            }
        }
    }

    private void leftovers(URI url, SglangClient client) throws EngineException, InterruptedException {
        long ours = client.adapters(deadline).keySet().stream().filter(Names::ours).count();
        if (ours > 0) {
            warning(url + " still holds " + ours + " adapters of an earlier run, which are never unloaded since their counts are not known", "restart it when its memory matters");
        }
    }

    private void tokenizers(URI url, SglangClient client) throws EngineException, InterruptedException {
        if (needs.tokenizer.isEmpty()) {
            return;
        }
        GenerateResponse reply = client.generate(GenerateRequest.ofText(PROBE, SamplingParams.builder().temperature(0).maxNewTokens(1).build())
                .withLogprobs(0, 0, List.of()).withRid(Rid.fresh("doctor")), deadline);
        int[] theirs = reply.metaInfo().inputTokenLogprobs().orElse(List.of()).stream().mapToInt(TokenLogprob::tokenId).toArray();
        int[] ours = needs.tokenizer.get().encode(PROBE);
        boolean beginsWithBos = theirs.length == ours.length + 1 && Arrays.equals(theirs, 1, theirs.length, ours, 0, ours.length);
        if (!Arrays.equals(theirs, ours) && !beginsWithBos) {
            int at = Arrays.mismatch(theirs, ours);
            problem(url + " and the trainer cut the same text into different tokens, from token " + (at + 1) + " on", "use the same model directory, tokenizer.json included, for both");
        }
    }

    /** Log-probs must be those of the distribution that was sampled: at half the temperature, differences between tokens double. */
    private void logProbs(URI url, SglangClient client) throws EngineException, InterruptedException {
        List<TokenLogprob> one = twoBest(client, 1);
        if (one.size() < 2) {
            warning(url + " returns no top log-probs, so their convention could not be checked", "use a server that has top_logprobs_num");
            return;
        }
        List<TokenLogprob> half = twoBest(client, 0.5);
        double gap = one.get(0).logprob() - one.get(1).logprob();
        double seen = half.stream().filter(t -> t.tokenId() == one.get(0).tokenId()).mapToDouble(TokenLogprob::logprob).findFirst().orElse(Double.NaN)
                - half.stream().filter(t -> t.tokenId() == one.get(1).tokenId()).mapToDouble(TokenLogprob::logprob).findFirst().orElse(Double.NaN);
        double tolerance = 0.05 + 0.1 * Math.abs(gap);
        if (Math.abs(gap) > 0.1 && Math.abs(seen - gap) < tolerance) {
            problem(url + " returns log-probs without the temperature", "start it without SGLANG_RETURN_ORIGINAL_LOGPROB");
        } else if (!(Math.abs(seen - 2 * gap) < 2 * tolerance)) {
            warning(url + " returns log-probs whose difference is " + gap + " at temperature 1 and " + seen + " at 0.5, twice as much is right", "look at the gap that training reports");
        }
    }

    private List<TokenLogprob> twoBest(SglangClient client, double temperature) throws EngineException, InterruptedException {
        GenerateResponse reply = client.generate(GenerateRequest.ofIds(new int[] {5, 6, 7, 8}, SamplingParams.builder().temperature(temperature).maxNewTokens(1).samplingSeed(1).build())
                .withLogprobs(-1, 2, List.of()).withRid(Rid.fresh("doctor")), deadline);
        return reply.metaInfo().outputTopLogprobs().filter(l -> !l.isEmpty()).flatMap(List::getFirst).orElse(List.of());
    }

    private static boolean older(String version) {
        String[] parts = version.split("[^0-9]+");
        int[] need = {0, 5, 17};
        for (int i = 0; i < need.length && i < parts.length && !parts[i].isEmpty(); i++) {
            int have = Integer.parseInt(parts[i]);
            if (have != need[i]) {
                return have < need[i];
            }
        }
        return false;
    }

    private void problem(String what, String remedy) {
        findings.add(new Finding(Severity.PROBLEM, what, remedy));
    }

    private void warning(String what, String remedy) {
        findings.add(new Finding(Severity.WARNING, what, remedy));
    }

    private void note(String what) {
        findings.add(new Finding(Severity.NOTE, what, ""));
    }
}
