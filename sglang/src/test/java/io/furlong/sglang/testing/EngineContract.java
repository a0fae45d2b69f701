package io.furlong.sglang.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.furlong.sglang.EngineException;
import io.furlong.sglang.EngineException.Kind;
import io.furlong.sglang.GenerateStream;
import io.furlong.sglang.Http;
import io.furlong.sglang.SglangClient;
import io.furlong.wire.AbortRequest;
import io.furlong.wire.FinishReason;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.LoadLoraRequest;
import io.furlong.wire.LoraReply;
import io.furlong.wire.SamplingParams;
import io.furlong.wire.TokenLogprob;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * What any server has to do that Furlong trains against. The same tests run on the stand-in, on the embedded engine, and on any server
 * that the system property {@code furlong.sglang.url} names, so that none drifts from the others.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class EngineContract {
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final int TRIES = 20;
    private static final int[] PROMPT = {5, 6, 7, 8};

    /** A server under test. */
    public interface Subject extends AutoCloseable {
        URI url();

        /** PEFT directories that fit its model and move its log-probs; empty when there are none, and what needs them is skipped. */
        List<Path> adapters();

        /** Generating so many tokens takes long enough to be aborted. */
        int longRun();

        /** Longest sequence it takes. */
        int context();

        @Override
        void close();
    }

    private Subject subject;
    private Http http;
    private SglangClient client;

    protected abstract Subject open() throws Exception;

    @BeforeAll
    void start() throws Exception {
        subject = open();
        http = Http.open();
        client = new SglangClient(http, subject.url());
    }

    @AfterAll
    void stop() {
        http.close();
        subject.close();
    }

    private static String rid() {
        return "contract::%016x%016x".formatted(ThreadLocalRandom.current().nextLong(), ThreadLocalRandom.current().nextLong());
    }

    private static String name(String what) {
        return what + ThreadLocalRandom.current().nextInt(1 << 30);
    }

    private static SamplingParams.Builder exactly(int tokens) {
        return SamplingParams.builder().maxNewTokens(tokens).ignoreEos(true).samplingSeed(7);
    }

    private GenerateResponse ask(SamplingParams params) throws Exception {
        return client.generate(GenerateRequest.ofIds(PROMPT, params).withLogprobs().withRid(rid()), SOON);
    }

    private Path adapter(int i) {
        assumeTrue(subject.adapters().size() > i, "no adapter directory for this server (system property furlong.sglang.adapters)");
        return subject.adapters().get(i);
    }

    private String loaded(Path path) throws Exception {
        String name = name("adapter");
        LoraReply reply = client.loadAdapter(LoadLoraRequest.of(name, path.toString()), SOON);
        assertThat(reply.success()).as("%s", reply).isTrue();
        return name;
    }

    @Test
    void eachOutputTokenHasItsLogProb() throws Exception {
        GenerateResponse reply = ask(exactly(12).build());
        List<TokenLogprob> triples = reply.metaInfo().outputTokenLogprobs().orElseThrow();
        assertThat(reply.outputIds()).hasSize(12);
        assertThat(triples.stream().mapToInt(TokenLogprob::tokenId).toArray()).isEqualTo(reply.outputIds());
        assertThat(triples).allSatisfy(t -> assertThat(t.logprob()).isLessThanOrEqualTo(0));
        assertThat(reply.metaInfo().promptTokens()).hasValue(PROMPT.length);
        assertThat(reply.metaInfo().completionTokens()).hasValue(12);
        assertThat(reply.metaInfo().finishReason()).containsInstanceOf(FinishReason.Length.class);
    }

    @Test
    void promptLogProbsBeginWithNoneAndNameThePromptsTokens() throws Exception {
        GenerateResponse reply = client.generate(GenerateRequest.ofIds(PROMPT, exactly(1).build()).withLogprobs(0, 0, List.of()).withRid(rid()), SOON);
        List<TokenLogprob> triples = reply.metaInfo().inputTokenLogprobs().orElseThrow();
        assertThat(triples.stream().mapToInt(TokenLogprob::tokenId).toArray()).isEqualTo(PROMPT);
        assertThat(triples.getFirst().logprob()).isNaN();
        assertThat(triples.subList(1, triples.size())).allSatisfy(t -> assertThat(t.logprob()).isLessThanOrEqualTo(0));
    }

    @Test
    void greedyIsGreedy() throws Exception {
        assertThat(ask(exactly(8).temperature(0).build()).outputIds()).isEqualTo(ask(exactly(8).temperature(0).samplingSeed(99).build()).outputIds());
    }

    @Test
    void theCumulativeStreamEndsAsTheReplyWithoutOne() throws Exception {
        SamplingParams greedy = exactly(8).temperature(0).build();
        GenerateResponse whole = ask(greedy);
        try (GenerateStream stream = client.stream(GenerateRequest.ofIds(PROMPT, greedy).withLogprobs().withRid(rid()), SOON)) {
            GenerateResponse joined = stream.whole();
            assertThat(joined.outputIds()).isEqualTo(whole.outputIds());
            assertThat(joined.metaInfo().outputTokenLogprobs().orElseThrow()).hasSize(8);
        }
    }

    @Test
    void aBadValueIsA400AndAnUnknownSamplingKeyA500InPlainText() throws Exception {
        HttpResponse<String> bad = raw("{\"input_ids\":[5],\"sampling_params\":{\"temperature\":-1}}");
        assertThat(bad.statusCode()).isEqualTo(400);
        assertThat(bad.body()).contains("\"error\"").contains("temperature");
        HttpResponse<String> unknown = raw("{\"input_ids\":[5],\"sampling_params\":{\"temprature\":1}}");
        assertThat(unknown.statusCode()).isEqualTo(500);
        assertThat(unknown.body()).isEqualTo("Internal Server Error");
    }

    @Test
    void aPromptThatDoesNotFitIsRefused() {
        GenerateRequest request = GenerateRequest.ofIds(new int[subject.context() + 1], exactly(1).build()).withRid(rid());
        assertThatThrownBy(() -> client.generate(request, SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.BAD_REQUEST));
    }

    @Test
    void anAdapterThatWasNeverLoadedIsSaidToBeUnknown() {
        GenerateRequest request = GenerateRequest.ofIds(PROMPT, exactly(1).build()).withRid(rid()).withAdapter(name("nobody"));
        assertThatThrownBy(() -> client.generate(request, SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNKNOWN_ADAPTER));
    }

    @Test
    void aLoadedAdapterIsListedWithItsPathAndMovesTheLogProbs() throws Exception {
        Path path = adapter(0);
        String name = loaded(path);
        assertThat(client.adapters(SOON)).containsEntry(name, path.toString());
        GenerateRequest probe = GenerateRequest.ofIds(PROMPT, exactly(1).build()).withLogprobs(0, 0, List.of());
        List<TokenLogprob> with = client.generate(probe.withRid(rid()).withAdapter(name), SOON).metaInfo().inputTokenLogprobs().orElseThrow();
        List<TokenLogprob> without = client.generate(probe.withRid(rid()), SOON).metaInfo().inputTokenLogprobs().orElseThrow();
        double moved = 0;
        for (int i = 1; i < with.size(); i++) {
            moved = Math.max(moved, Math.abs(with.get(i).logprob() - without.get(i).logprob()));
        }
        assertThat(moved).isGreaterThan(1e-3);
        assertThat(client.unloadAdapter(name, SOON).success()).isTrue();
        assertThat(client.adapters(SOON)).doesNotContainKey(name);
    }

    @Test
    void aNameIsLoadedOnceAndUnloadedOnce() throws Exception {
        Path path = adapter(0);
        String name = loaded(path);
        LoraReply again = client.loadAdapter(LoadLoraRequest.of(name, path.toString()), SOON);
        assertThat(again.success()).isFalse();
        assertThat(again.errorMessage().orElse("")).containsPattern("already (exists|loaded)");
        assertThat(client.unloadAdapter(name, SOON).success()).isTrue();
        LoraReply gone = client.unloadAdapter(name, SOON);
        assertThat(gone.success()).isFalse();
        assertThat(gone.errorMessage().orElse("")).contains("does not exist");
    }

    @Test
    void aDirectoryThatIsNotThereIsNotLoaded() throws Exception {
        assumeTrue(!subject.adapters().isEmpty(), "no adapter directory for this server");
        String name = name("missing");
        LoraReply reply = client.loadAdapter(LoadLoraRequest.of(name, "/nowhere/" + name), SOON);
        assertThat(reply.success()).isFalse();
        assertThat(client.adapters(SOON)).doesNotContainKey(name);
    }

    @Test
    void anUnloadedAdapterIsLoadedAgainWhenItIsNamed() throws Exception {
        String name = loaded(adapter(0));
        client.unloadAdapter(name, SOON);
        GenerateResponse reply = client.generate(GenerateRequest.ofIds(PROMPT, exactly(1).build()).withRid(rid()).withAdapter(name), SOON);
        assertThat(reply.outputIds()).hasSize(1);
        assertThat(client.adapters(SOON)).containsKey(name);
        client.unloadAdapter(name, SOON);
    }

    @Test
    void adaptersAndTheBaseAreServedBesideEachOther() throws Exception {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < Math.min(3, subject.adapters().size()); i++) {
            names.add(loaded(adapter(i)));
        }
        assumeTrue(!names.isEmpty(), "no adapter directory for this server");
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<GenerateResponse>> all = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                GenerateRequest request = GenerateRequest.ofIds(PROMPT, exactly(6).build()).withLogprobs().withRid(rid());
                GenerateRequest named = i % 4 == 3 ? request : request.withAdapter(names.get(i % names.size()));
                all.add(threads.submit(() -> client.generate(named, SOON)));
            }
            for (Future<GenerateResponse> one : all) {
                assertThat(one.get().outputIds()).hasSize(6);
            }
        }
        for (String name : names) {
            assertThat(client.unloadAdapter(name, SOON).success()).isTrue();
        }
    }

    /** A fast server may be done before the abort arrives; then it is asked again. */
    @Test
    void anAbortEndsTheRequestWithThatIdAndNoOther() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            boolean aborted = false;
            for (int i = 0; i < TRIES && !aborted; i++) {
                String mine = rid();
                Future<GenerateResponse> running = threads.submit(() -> client.generate(lasting().withLogprobs().withRid(mine), SOON));
                Future<GenerateResponse> other = threads.submit(() -> client.generate(GenerateRequest.ofIds(PROMPT, exactly(4).build()).withRid(rid()), SOON));
                while (!running.isDone()) {
                    client.abort(AbortRequest.exact(mine), SOON);
                }
                aborted = running.get().metaInfo().finishReason().orElseThrow() instanceof FinishReason.Abort;
                assertThat(running.get().outputIds().length).isLessThan(aborted ? subject.longRun() : subject.longRun() + 1);
                assertThat(other.get().metaInfo().finishReason()).containsInstanceOf(FinishReason.Length.class);
            }
            assertThat(aborted).isTrue();
        }
    }

    @Test
    void anIdInFlightIsRefusedASecondTime() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            String refusal = "";
            for (int i = 0; i < TRIES && refusal.isEmpty(); i++) {
                String mine = rid();
                Future<String> one = threads.submit(() -> refusal(lasting().withRid(mine)));
                Future<String> two = threads.submit(() -> refusal(lasting().withRid(mine)));
                refusal = one.get() + two.get();
            }
            assertThat(refusal).startsWith("BAD_REQUEST").contains("Duplicate request ID");
        }
    }

    private String refusal(GenerateRequest request) throws InterruptedException {
        try {
            client.generate(request, SOON);
            return "";
        } catch (EngineException e) {
            return e.kind() + ": " + e.getMessage();
        }
    }

    private GenerateRequest lasting() {
        return GenerateRequest.ofIds(PROMPT, exactly(subject.longRun()).build());
    }

    @Test
    void abortingWhatIsNotThereIsAnswered200() throws Exception {
        client.abort(AbortRequest.exact(rid()), SOON);
    }

    @Test
    void aPausedServerHoldsNewRequestsUntilItGoesOn() throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            post("/pause_generation", "{\"mode\":\"abort\"}");
            Future<GenerateResponse> held = threads.submit(() -> client.generate(GenerateRequest.ofIds(PROMPT, exactly(2).build()).withRid(rid()), SOON));
            assertThat(client.models(SOON).data()).isNotEmpty();
            assertThat(held).isNotDone();
            post("/continue_generation", "{\"torch_empty_cache\":false}");
            assertThat(held.get().outputIds()).hasSize(2);
        }
    }

    @Test
    void theInfoPagesAnswer() throws Exception {
        client.health(SOON);
        assertThat(client.modelInfo(SOON).isGeneration()).isTrue();
        assertThat(client.serverInfo(SOON).version()).isPresent();
        assertThat(client.models(SOON).data().getFirst().parent()).isEmpty();
        assertThat(client.loads(SOON).loads()).isNotNull();
    }

    private HttpResponse<String> raw(String body) throws Exception {
        return post("/generate", body);
    }

    private HttpResponse<String> post(String path, String body) throws Exception {
        try (HttpClient plain = HttpClient.newHttpClient()) {
            return plain.send(HttpRequest.newBuilder(URI.create(subject.url() + path)).header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(body)).build(), HttpResponse.BodyHandlers.ofString());
        }
    }

    /** The server that {@code furlong.sglang.url} names, with the directories of {@code furlong.sglang.adapters}, separated by commas. */
    public static Optional<Subject> named() {
        return Optional.ofNullable(System.getProperty("furlong.sglang.url")).map(url -> new Subject() {
            @Override
            public URI url() {
                return URI.create(url);
            }

            @Override
            public List<Path> adapters() {
                String all = System.getProperty("furlong.sglang.adapters", "");
                return all.isEmpty() ? List.of() : java.util.Arrays.stream(all.split(",")).map(Path::of).toList();
            }

            @Override
            public int longRun() {
                return 1024;
            }

            @Override
            public int context() {
                return Integer.getInteger("furlong.sglang.context", 4096);
            }

            @Override
            public void close() {
                // not ours
            }
        });
    }

}
