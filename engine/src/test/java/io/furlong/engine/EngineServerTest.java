package io.furlong.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.engine.HttpCalls.Answer;
import io.furlong.wire.PauseRequest;
import io.furlong.wire.WireJson;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The HTTP API answers as SGLang's does: paths, status codes, bodies. */
@Timeout(120)
class EngineServerTest {
    private static final String R4 = Fixture.LLAMA_R4.toString();
    @TempDir
    private static Path directory;
    private static EngineServer server;
    private static HttpCalls http;

    @BeforeAll
    static void start() throws Exception {
        server = EngineServer.start(EngineOptions.builder(TextModel.write(directory)).servedModelName("tiny").maxLoraRank(8).maxRunningRequests(8).randomSeed(1).build());
        http = new HttpCalls(server.port(), Map.of());
        http.post("/load_lora_adapter", load("a", R4));
    }

    @AfterAll
    static void stop() {
        http.close();
        server.close();
    }

    @AfterEach
    void nothingIsLeftRunning() throws Exception {
        server.engine().resume();
        server.engine().abortAll();
        assertThat(server.engine().flushCache(Duration.ofSeconds(20))).isTrue();
    }

    // --- generate ---

    @Test
    void aReplyHasTheFieldsOfSglang() throws Exception {
        Answer answer = http.post("/generate", "{'text':'hello','rid':'r1','return_logprob':true,'logprob_start_len':0,'top_logprobs_num':2,'token_ids_logprob':[3],"
                + "'return_text_in_logprobs':true,'sampling_params':{'temperature':0,'max_new_tokens':4}}");
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.type()).startsWith("application/json");
        JsonNode reply = answer.json();
        assertThat(reply.get("output_ids")).hasSize(4);
        assertThat(reply.get("text").asText()).hasSize(4);
        JsonNode meta = reply.get("meta_info");
        assertThat(meta.get("id").asText()).isEqualTo("r1");
        assertThat(meta.get("finish_reason").toString()).isEqualTo("{\"type\":\"length\",\"length\":4}");
        assertThat(meta.get("prompt_tokens").asInt()).isEqualTo(5);
        assertThat(meta.get("completion_tokens").asInt()).isEqualTo(4);
        assertThat(meta.get("weight_version").asText()).isEqualTo("default");
        assertThat(meta.get("e2e_latency").asDouble()).isPositive();
        assertThat(meta.get("input_token_logprobs")).hasSize(5);
        assertThat(meta.get("input_token_logprobs").get(0).toString()).isEqualTo("[null,72,\"h\"]");
        assertThat(meta.get("output_token_logprobs")).hasSize(4);
        assertThat(meta.get("output_token_logprobs_length").asInt()).isEqualTo(4);
        assertThat(meta.get("output_token_logprobs").get(0).get(1)).isEqualTo(reply.get("output_ids").get(0));
        assertThat(meta.get("output_top_logprobs").get(0)).hasSize(2);
        assertThat(meta.get("input_top_logprobs").get(0).isNull()).isTrue();
        assertThat(meta.get("input_top_logprobs").get(1)).hasSize(2);
        assertThat(meta.get("output_token_ids_logprobs").get(0).get(0).get(1).asInt()).isEqualTo(3);
        assertThat(meta.has("lora_digest")).isFalse();
    }

    @Test
    void underAnAdapterTheReplyProvesWhichWeightsMadeIt() throws Exception {
        JsonNode reply = http.post("/generate", "{'text':'hello','lora_path':'a','sampling_params':{'temperature':0,'max_new_tokens':3}}").json();
        assertThat(reply.get("meta_info").get("lora_digest").asText()).isEqualTo(server.engine().adapters().getFirst().digest());
        JsonNode base = http.post("/generate", "{'text':'hello','lora_path':'','sampling_params':{'temperature':0,'max_new_tokens':3}}").json();
        assertThat(base.get("output_ids")).isNotEqualTo(reply.get("output_ids"));
    }

    @Test
    void batchesAndSeveralSamplesAreArraysInOrder() throws Exception {
        JsonNode batch = http.post("/generate", "{'text':['hello','world'],'rid':'b','lora_path':['a',null],'sampling_params':{'temperature':0,'max_new_tokens':3}}").json();
        assertThat(batch.findValuesAsText("id")).containsExactly("b_0", "b_1");
        JsonNode samples = http.post("/generate", "{'input_ids':[40,50,60],'rid':'n','sampling_params':{'n':3,'max_new_tokens':6}}").json();
        assertThat(samples).hasSize(3);
        assertThat(samples.findValuesAsText("id")).doesNotContain("n").doesNotHaveDuplicates();
        assertThat(samples.findValues("output_ids").stream().map(JsonNode::toString).distinct().count()).isGreaterThan(1);
    }

    @Test
    void stopStringsEndTheTextAndAreTrimmedUnlessAskedFor() throws Exception {
        String plain = http.post("/generate", "{'text':'hello','sampling_params':{'temperature':0,'max_new_tokens':12}}").json().get("text").asText();
        String stop = WireJson.write(plain.substring(4, 6));
        int at = plain.indexOf(plain.substring(4, 6));
        JsonNode stopped = http.post("/generate", "{'text':'hello','sampling_params':{'temperature':0,'max_new_tokens':12,'stop':" + stop + "}}").json();
        assertThat(stopped.get("text").asText()).isEqualTo(plain.substring(0, at));
        assertThat(stopped.get("output_ids")).hasSize(at + 2);
        assertThat(stopped.get("meta_info").get("finish_reason").get("matched").asText()).isEqualTo(plain.substring(4, 6));
        JsonNode kept = http.post("/generate", "{'text':'hello','sampling_params':{'temperature':0,'max_new_tokens':12,'no_stop_trim':true,'stop':[" + stop + "]}}").json();
        assertThat(kept.get("text").asText()).isEqualTo(plain.substring(0, at + 2));
    }

    @Test
    void aMatchOfAStopPatternEndsTheTextAndNoPatternIsTooHard() throws Exception {
        String plain = http.post("/generate", "{'text':'hello','sampling_params':{'temperature':0,'max_new_tokens':12}}").json().get("text").asText();
        String pattern = "\\Q" + plain.charAt(4) + "\\E";
        JsonNode stopped = http.post("/generate", "{'text':'hello','sampling_params':{'temperature':0,'max_new_tokens':12,'stop_regex':"
                + WireJson.write(pattern) + ",'custom_params':{'mine':1}}}").json();
        assertThat(stopped.get("text").asText()).isEqualTo(plain.substring(0, plain.indexOf(plain.charAt(4)) + 1));
        assertThat(stopped.get("meta_info").get("finish_reason").get("matched").asText()).isEqualTo(pattern);

        // Would take for ever where patterns backtrack.
        assertThat(http.post("/generate", "{'text':'hello','sampling_params':{'max_new_tokens':60,'ignore_eos':true,'stop_regex':['(.*.*)*(.*.*)*~~~~']}}").json()
                .get("output_ids")).hasSize(60);
        HttpCalls.Answer wrong = http.post("/generate", "{'text':'hello','sampling_params':{'stop_regex':'('}}");
        assertThat(wrong.status()).isEqualTo(400);
        assertThat(wrong.body()).contains("stop_regex '('");
    }

    @Test
    void anEndTokenIsPartOfTheOutputButNotOfTheText() throws Exception {
        JsonNode plain = http.post("/generate", "{'text':'hello','sampling_params':{'temperature':0,'max_new_tokens':8}}").json();
        int third = plain.get("output_ids").get(2).asInt();
        int first = 0;
        while (plain.get("output_ids").get(first).asInt() != third) {
            first++;
        }
        String params = "{'temperature':0,'max_new_tokens':8,'stop_token_ids':[" + third + "]%s}";
        JsonNode stopped = http.post("/generate", "{'text':'hello','sampling_params':" + params.formatted("") + "}").json();
        assertThat(stopped.get("output_ids")).hasSize(first + 1);
        assertThat(stopped.get("text").asText()).isEqualTo(plain.get("text").asText().substring(0, first));
        assertThat(stopped.get("meta_info").get("finish_reason").toString()).isEqualTo("{\"type\":\"stop\",\"matched\":" + third + "}");
        // ignore_eos switches stop_token_ids off too; min_new_tokens bars them.
        assertThat(http.post("/generate", "{'text':'hello','sampling_params':" + params.formatted(",'ignore_eos':true") + "}").json().get("output_ids"))
                .isEqualTo(plain.get("output_ids"));
        JsonNode barred = http.post("/generate", "{'text':'hello','sampling_params':" + params.formatted(",'min_new_tokens':7") + "}").json();
        assertThat(barred.get("output_ids").size()).isGreaterThanOrEqualTo(7);
    }

    @Test
    void theModelsOwnEndTokenEndsTheResponse() throws Exception {
        String bias = "'logit_bias':{'" + TextModel.END + "':1000}";
        JsonNode ended = http.post("/generate", "{'text':'hello','sampling_params':{'max_new_tokens':8," + bias + "}}").json();
        assertThat(ended.get("output_ids").toString()).isEqualTo("[95]");
        assertThat(ended.get("text").asText()).isEmpty();
        assertThat(ended.get("meta_info").get("finish_reason").get("matched").asInt()).isEqualTo(TextModel.END);
        assertThat(http.post("/generate", "{'text':'hello','sampling_params':{'max_new_tokens':3,'ignore_eos':true," + bias + "}}").json().get("output_ids").toString())
                .isEqualTo("[95,95,95]");
        // At the very last place an end token counts as length, as in SGLang.
        assertThat(http.post("/generate", "{'text':'hello','sampling_params':{'max_new_tokens':1," + bias + "}}").json()
                .get("meta_info").get("finish_reason").get("type").asText()).isEqualTo("length");
    }

    @Test
    void noTokensWantedGivesPromptLogprobsOnly() throws Exception {
        JsonNode reply = http.post("/generate", "{'text':'hello','return_logprob':true,'logprob_start_len':1,'sampling_params':{'max_new_tokens':0}}").json();
        assertThat(reply.get("output_ids")).isEmpty();
        assertThat(reply.get("meta_info").get("input_token_logprobs")).hasSize(4);
        assertThat(reply.get("meta_info").get("finish_reason").toString()).isEqualTo("{\"type\":\"length\",\"length\":0}");
    }

    @Test
    void streamsAreCumulativeAndEndWithDone() throws Exception {
        Answer answer = http.post("/generate", "{'text':'hello','stream':true,'return_logprob':true,'sampling_params':{'temperature':0,'max_new_tokens':5}}");
        assertThat(answer.type()).startsWith("text/event-stream");
        List<String> events = answer.events();
        assertThat(events).hasSize(6).endsWith("[DONE]");
        for (int i = 0; i < 5; i++) {
            JsonNode chunk = new Answer(200, "", events.get(i)).json();
            assertThat(chunk.get("output_ids")).hasSize(i + 1);
            assertThat(chunk.get("text").asText()).hasSize(i + 1);
            assertThat(chunk.get("meta_info").get("output_token_logprobs")).hasSize(i + 1);
            assertThat(chunk.get("meta_info").get("finish_reason").isNull()).isEqualTo(i < 4);
        }
        Answer batch = http.post("/generate", "{'text':['hello','world'],'stream':true,'sampling_params':{'temperature':0,'max_new_tokens':3}}");
        assertThat(batch.events()).hasSize(7);
        assertThat(batch.events().subList(0, 6).stream().map(e -> new Answer(200, "", e).json().get("index").asInt())).containsOnly(0, 1);
    }

    @Test
    void incrementalStreamsCarryWhatIsNew() throws Exception {
        try (EngineServer incremental = EngineServer.start(EngineOptions.builder(directory).incrementalStreamingOutput(true).build());
                HttpCalls calls = new HttpCalls(incremental.port(), Map.of())) {
            String ask = "{'text':'hello','stream':%s,'return_logprob':true,'sampling_params':{'temperature':0,'max_new_tokens':5}}";
            JsonNode whole = calls.post("/generate", ask.formatted("false")).json();
            StringBuilder text = new StringBuilder();
            List<JsonNode> ids = new ArrayList<>();
            List<String> events = calls.post("/generate", ask.formatted("true")).events();
            for (String event : events.subList(0, events.size() - 1)) {
                JsonNode chunk = new Answer(200, "", event).json();
                text.append(chunk.get("text").asText());
                chunk.get("output_ids").forEach(ids::add);
                assertThat(chunk.get("meta_info").get("output_token_logprobs")).hasSize(chunk.get("output_ids").size());
            }
            assertThat(text.toString()).isEqualTo(whole.get("text").asText());
            assertThat(ids.toString().replace(" ", "")).isEqualTo(whole.get("output_ids").toString());
            assertThat(calls.get("/server_info").json().get("incremental_streaming_output").asBoolean()).isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
            {'text':'hello','lora_path':'nobody'}                                          | 400 | {"error":{"message":"Got LoRA adapter that has never been loaded: nobody\\nAll loaded adapters: dict_keys(['a'])."}}
            {'input_ids':[]}                                                               | 400 | {"error":{"message":"input_ids cannot be empty."}}
            {'text':'hello','sampling_params':{'top_p':2}}                                 | 400 | {"error":{"message":"top_p must be in (0, 1], got 2.0."}}
            {'text':'hello','sampling_params':{'max_new_tokens':508}}                      | 400 | exceeds the model's maximum context length of 512 tokens
            {'text':'hello','sampling_params':{'tempature':1}}                             | 500 | Internal Server Error
            {'text':'hello','sampling_params':{'top_p':'x'}}                               | 500 | Internal Server Error
            {'text':'hello','stream':3}                                                    | 400 | {"object":"error","message":"stream: true or false is needed","type":"Bad Request","param":null,"code":400}
            {'text':'hello                                                                 | 400 | "type":"Bad Request"
            {'input_ids':[1,96]}                                                           | 400 | outside the vocabulary of 96 tokens
            {'input_ids':[1,-1]}                                                           | 400 | outside the vocabulary of 96 tokens
            {'text':'hello','sampling_params':{'json_schema':'{}'}}                        | 400 | json_schema is not supported by this engine
            {'text':'hello','return_logprob':true,'logprob_start_len':6}                   | 400 | higher than the number of input tokens
            {'text':'hello','token_ids_logprob':[96],'return_logprob':true}                | 400 | token_ids_logprob contains 96
            {'text':'hello','sampling_params':{'logit_bias':{'96':1}}}                     | 400 | logit_bias contains 96
            {'text':['hello','world'],'lora_path':['a']}                                   | 500 | Internal Server Error
            """)
    void whatIsWrongIsAnsweredAsSglangAnswersIt(String body, int status, String answer) throws Exception {
        Answer got = http.post("/generate", body);
        assertThat(got.status()).isEqualTo(status);
        assertThat(got.body()).contains(answer);
        if (status == 500) {
            assertThat(got.body()).isEqualTo("Internal Server Error");
            assertThat(got.type()).startsWith("text/plain");
        }
    }

    @Test
    void aPromptAsLongAsTheContextIsRefused() throws Exception {
        Answer got = http.post("/generate", "{'text':'" + "x".repeat(512) + "'}");
        assertThat(got.status()).isEqualTo(400);
        assertThat(got.body()).isEqualTo("{\"error\":{\"message\":\"The input (512 tokens) is longer than the model's context length (512 tokens).\"}}");
        assertThat(http.post("/generate", "{'text':'" + "x".repeat(500) + "','sampling_params':{'max_new_tokens':null,'ignore_eos':true}}").json()
                .get("meta_info").get("completion_tokens").asInt()).isEqualTo(12);
    }

    // --- abort ---

    @Test
    void abortMatchesAsSglangDoes() throws Exception {
        server.engine().pause(PauseRequest.Mode.IN_PLACE);
        List<CompletableFuture<Answer>> asked = new ArrayList<>();
        for (String rid : List.of("x1", "x10", "x2", "y::1", "y::2", "z")) {
            asked.add(http.posting("/generate", "{'text':'hello','rid':'" + rid + "','return_logprob':true,'sampling_params':{'max_new_tokens':3}}"));
        }
        awaitLoad(load -> load.waiting() == 6);
        // Not exactly a live id: nothing happens.
        assertThat(http.post("/abort_request", "{'rid':'x'}").status()).isEqualTo(200);
        assertThat(http.post("/abort_request", "{'rid':''}").status()).isEqualTo(200);
        assertThat(server.engine().load().waiting()).isEqualTo(6);
        // A live id takes those with it that begin with it.
        Answer aborted = http.post("/abort_request", "{'rid':'x1'}");
        assertThat(aborted.status()).isEqualTo(200);
        assertThat(aborted.body()).isEmpty();
        for (int i = 0; i < 2; i++) {
            Answer answer = asked.get(i).get(20, TimeUnit.SECONDS);
            assertThat(answer.status()).isEqualTo(200);
            JsonNode meta = answer.json().get("meta_info");
            assertThat(meta.get("finish_reason").toString()).isEqualTo("{\"type\":\"abort\",\"message\":\"Abort in waiting queue\"}");
            assertThat(meta.has("prompt_tokens")).isFalse();
            assertThat(meta.get("completion_tokens").asInt()).isZero();
            assertThat(answer.json().get("text").asText()).isEmpty();
        }
        assertThat(server.engine().load().waiting()).isEqualTo(4);
        http.post("/abort_request", "{'rid':'y::','prefix':true}");
        assertThat(asked.get(3).get(20, TimeUnit.SECONDS).body()).contains("\"type\":\"abort\"");
        assertThat(asked.get(4).get(20, TimeUnit.SECONDS).body()).contains("\"type\":\"abort\"");
        server.engine().resume();
        assertThat(asked.get(2).get(20, TimeUnit.SECONDS).json().get("output_ids")).hasSize(3);
        assertThat(asked.get(5).get(20, TimeUnit.SECONDS).json().get("output_ids")).hasSize(3);
        assertThat(http.post("/abort_request", "").status()).isEqualTo(400);
    }

    @Test
    void aRunningRequestThatIsAbortedKeepsWhatItHas() throws Exception {
        server.engine().pause(PauseRequest.Mode.IN_PLACE);
        CompletableFuture<Answer> stream = http.posting("/generate", "{'text':'hello','rid':'run','stream':true,'sampling_params':{'max_new_tokens':400,'ignore_eos':true}}");
        awaitLoad(load -> load.waiting() == 1);
        server.engine().resume();
        awaitLoad(load -> load.running() == 1 && load.usedTokens() > 12);
        http.post("/abort_request", "{'abort_all':true}");
        List<String> events = stream.get(20, TimeUnit.SECONDS).events();
        JsonNode last = new Answer(200, "", events.get(events.size() - 2)).json();
        assertThat(last.get("meta_info").get("finish_reason").get("message").asText()).isEqualTo("Aborted");
        assertThat(last.get("output_ids").size()).isBetween(2, 399);
        assertThat(last.get("meta_info").get("prompt_tokens").asInt()).isEqualTo(5);
    }

    @Test
    void aDuplicateIdIsRefusedWhileTheFirstLives() throws Exception {
        server.engine().pause(PauseRequest.Mode.IN_PLACE);
        CompletableFuture<Answer> first = http.posting("/generate", "{'text':'hello','rid':'same','sampling_params':{'max_new_tokens':1}}");
        awaitLoad(load -> load.waiting() == 1);
        Answer second = http.post("/generate", "{'text':'hello','rid':'same'}");
        assertThat(second.status()).isEqualTo(400);
        assertThat(second.body()).isEqualTo("{\"error\":{\"message\":\"Duplicate request ID detected: same\"}}");
        server.engine().resume();
        assertThat(first.get(20, TimeUnit.SECONDS).status()).isEqualTo(200);
        assertThat(http.post("/generate", "{'text':'hello','rid':'same','sampling_params':{'max_new_tokens':1}}").status()).isEqualTo(200);
    }

    @Test
    void aClientThatGoesAwayHasItsRequestsAborted() throws Exception {
        for (String stream : List.of("false", "true")) {
            String body = "{\"text\":\"hello\",\"stream\":" + stream + ",\"sampling_params\":{\"max_new_tokens\":500,\"ignore_eos\":true}}";
            server.engine().pause(PauseRequest.Mode.IN_PLACE);
            try (Socket socket = new Socket("127.0.0.1", server.port())) {
                OutputStream out = socket.getOutputStream();
                out.write(("POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: " + body.length() + "\r\n\r\n" + body).getBytes(StandardCharsets.US_ASCII));
                out.flush();
                awaitLoad(load -> load.waiting() == 1);
            }
            assertThat(server.engine().flushCache(Duration.ofSeconds(20))).as("idle after the client left, stream " + stream).isTrue();
            server.engine().resume();
        }
    }

    // --- adapters ---

    @Test
    void adaptersLoadAndUnloadWithSglangsReplies() throws Exception {
        Answer loaded = http.post("/load_lora_adapter", load("b", Fixture.LLAMA_R2.toString()));
        assertThat(loaded.status()).isEqualTo(200);
        assertThat(loaded.body()).isEqualTo("{\"rid\":null,\"http_worker_ipc\":null,\"success\":true,\"error_message\":null,\"loaded_adapters\":{\"a\":\"" + R4
                + "\",\"b\":\"" + Fixture.LLAMA_R2 + "\"}}");
        Answer twice = http.post("/load_lora_adapter", load("b", R4));
        assertThat(twice.status()).isEqualTo(400);
        assertThat(twice.json().get("error_message").asText()).isEqualTo("Failed to load LoRA adapter b because it is already loaded");
        assertThat(http.post("/unload_lora_adapter", "{'lora_name':'b'}").json().get("loaded_adapters").toString()).isEqualTo("{\"a\":\"" + R4 + "\"}");
        Answer unknown = http.post("/unload_lora_adapter", "{'lora_name':'b'}");
        assertThat(unknown.status()).isEqualTo(400);
        assertThat(unknown.json().get("error_message").asText()).startsWith("LoRA with name b does not exist.");
        // Unloading is no tombstone: the name comes back from its path when asked for.
        assertThat(http.post("/generate", "{'text':'hello','lora_path':'b','sampling_params':{'max_new_tokens':1}}").status()).isEqualTo(200);
        http.post("/unload_lora_adapter", "{'lora_name':'b'}");
    }

    @Test
    void aPathWithNothingThereIs400AndRegistersNothing() throws Exception {
        Answer missing = http.post("/load_lora_adapter", load("m", directory.resolve("nothing").toString()));
        assertThat(missing.status()).isEqualTo(400);
        assertThat(missing.json().get("success").asBoolean()).isFalse();
        assertThat(missing.json().get("error_message").asText()).contains("m").contains("nothing").doesNotContain("\n");
        Answer foreign = http.post("/load_lora_adapter", load("m", Fixture.adapter("qwen3-all-r8").toString()));
        assertThat(foreign.status()).isEqualTo(400);
        assertThat(http.get("/v1/models").json().findValuesAsText("id")).containsExactly("tiny", "a");
        assertThat(http.post("/generate", "{'text':'hello','lora_path':'m'}").status()).isEqualTo(400);
        assertThat(http.post("/load_lora_adapter", "{'lora_name':'m'}").status()).isEqualTo(400);
    }

    @Test
    void anUpsertWithTheWrongDigestChangesNothing() throws Exception {
        http.post("/load_lora_adapter", load("u", R4));
        String before = server.engine().adapters().getLast().digest();
        Answer wrong = http.post("/load_lora_adapter", "{'lora_name':'u','lora_path':'" + Fixture.LLAMA_R2 + "','upsert':true,'version':2,'expected_digest':'00'}");
        assertThat(wrong.status()).isEqualTo(400);
        assertThat(wrong.json().get("error_message").asText()).contains("expected was 00");
        assertThat(server.engine().adapters().getLast().digest()).isEqualTo(before);
        Answer right = http.post("/load_lora_adapter", "{'lora_name':'u','lora_path':'" + Fixture.LLAMA_R2 + "','upsert':true,'version':2}");
        assertThat(right.status()).isEqualTo(200);
        JsonNode meta = http.post("/generate", "{'text':'hello','lora_path':'u','sampling_params':{'max_new_tokens':2}}").json().get("meta_info");
        assertThat(meta.get("lora_versions").toString()).isEqualTo("[[0,2]]");
        assertThat(meta.get("lora_digest").asText()).isNotEqualTo(before);
        http.post("/unload_lora_adapter", "{'lora_name':'u'}");
    }

    @Test
    void anAdapterOfTooHighARankIsRefused() throws Exception {
        try (EngineServer small = EngineServer.start(EngineOptions.builder(directory).maxLoraRank(3).build()); HttpCalls calls = new HttpCalls(small.port(), Map.of())) {
            Answer refused = calls.post("/load_lora_adapter", load("a", R4));
            assertThat(refused.status()).isEqualTo(400);
            assertThat(refused.json().get("error_message").asText()).contains("with rank 4 is incompatible with the current LoRA memory pool configuration");
        }
    }

    @Test
    void withoutLoraAdaptersAreRefusedWithSglangsWords() throws Exception {
        try (EngineServer base = EngineServer.start(EngineOptions.builder(directory).enableLora(false).build()); HttpCalls calls = new HttpCalls(base.port(), Map.of())) {
            Answer load = calls.post("/load_lora_adapter", load("a", R4));
            assertThat(load.status()).isEqualTo(400);
            assertThat(load.json().get("error_message").asText()).isEqualTo("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.");
            Answer ask = calls.post("/generate", "{'text':'hello','lora_path':'a'}");
            assertThat(ask.status()).isEqualTo(400);
            assertThat(ask.json().get("error").get("message").asText()).startsWith("LoRA adapter 'a' was requested, but LoRA is not enabled.");
        }
    }

    @Test
    void adapterPathsOutsideTheRootsAreRefused() throws Exception {
        Path root = Fixture.LLAMA_R4.getParent().resolve("llama-all-r4");
        try (EngineServer rooted = EngineServer.start(EngineOptions.builder(directory).adapterRoots(List.of(root)).build()); HttpCalls calls = new HttpCalls(rooted.port(), Map.of())) {
            assertThat(calls.post("/load_lora_adapter", load("a", R4)).status()).isEqualTo(200);
            Answer outside = calls.post("/load_lora_adapter", load("b", root + "/../llama-qv-r2-rslora"));
            assertThat(outside.status()).isEqualTo(400);
            assertThat(outside.json().get("error_message").asText()).contains("outside the allowed directories");
        }
    }

    // --- the rest ---

    @Test
    void aPausedEngineHoldsRequestsAndStaysHealthy() throws Exception {
        assertThat(http.post("/pause_generation", "{'mode':'in_place'}").body()).isEqualTo("{\"message\":\"Generation paused successfully.\",\"status\":\"ok\"}");
        CompletableFuture<Answer> held = http.posting("/generate", "{'text':'hello','sampling_params':{'max_new_tokens':2}}");
        awaitLoad(load -> load.waiting() == 1);
        assertThat(held).isNotDone();
        assertThat(http.get("/health").status()).isEqualTo(200);
        assertThat(http.get("/health_generate").status()).isEqualTo(200);
        assertThat(http.get("/flush_cache").status()).isEqualTo(400);
        assertThat(http.get("/flush_cache").body()).isEqualTo("Flush cache failed.\n");
        assertThat(http.post("/continue_generation", "{}").body()).isEqualTo("{\"message\":\"Generation continued successfully.\",\"status\":\"ok\"}");
        assertThat(held.get(20, TimeUnit.SECONDS).json().get("output_ids")).hasSize(2);
        assertThat(http.post("/flush_cache?timeout=5", "").status()).isEqualTo(200);
        assertThat(http.post("/pause_generation", "{'mode':'sideways'}").status()).isEqualTo(400);
        assertThat(http.post("/continue_generation", "").status()).isEqualTo(400);
        assertThat(http.get("/flush_cache?timeout=x").status()).isEqualTo(400);
    }

    @Test
    void theServerSaysWhatItIs() throws Exception {
        assertThat(http.get("/health").status()).isEqualTo(200);
        assertThat(http.get("/health_generate").status()).isEqualTo(200);
        JsonNode model = http.get("/get_model_info").json();
        assertThat(model.get("served_model_name").asText()).isEqualTo("tiny");
        assertThat(model.get("weight_version").asText()).isEqualTo("default");
        assertThat(http.get("/model_info").json()).isEqualTo(model);
        JsonNode info = http.get("/server_info").json();
        assertThat(info.get("enable_lora").asBoolean()).isTrue();
        assertThat(info.get("max_loras_per_batch").asInt()).isEqualTo(32);
        assertThat(info.get("max_lora_rank").asInt()).isEqualTo(8);
        assertThat(info.get("tokenizer_worker_num").asInt()).isEqualTo(1);
        assertThat(info.get("furlong").get("inplace_upsert").asBoolean()).isTrue();
        assertThat(info.get("furlong").get("abort_prefix").asBoolean()).isTrue();
        assertThat(info.get("furlong").get("tokenizer").asText()).hasSize(64);
        JsonNode models = http.get("/v1/models").json();
        assertThat(models.get("data").get(0).get("max_model_len").asInt()).isEqualTo(512);
        assertThat(models.get("data").get(1).get("parent").asText()).isEqualTo("tiny");
        assertThat(models.get("data").get(1).get("root").asText()).isEqualTo(R4);
        assertThat(http.get("/v1/models/tiny").status()).isEqualTo(200);
        assertThat(http.get("/v1/models/a").status()).isEqualTo(404);
        assertThat(http.get("/v1/models/a").json().get("error").get("code").asText()).isEqualTo("model_not_found");
        JsonNode load = http.get("/v1/loads?include=all").json().get("loads").get(0);
        assertThat(load.get("num_running_reqs").asInt()).isZero();
        assertThat(load.get("lora").get("slots_total").asInt()).isEqualTo(32);
        assertThat(http.get("/nowhere").status()).isEqualTo(404);
    }

    @Test
    void relabellingAbortsEverythingUnlessToldNotTo() throws Exception {
        server.engine().pause(PauseRequest.Mode.IN_PLACE);
        CompletableFuture<Answer> held = http.posting("/generate", "{'text':'hello','sampling_params':{'max_new_tokens':2}}");
        awaitLoad(load -> load.waiting() == 1);
        assertThat(http.post("/update_weight_version", "{'new_version':'v7','abort_all_requests':false}").json().get("success").asBoolean()).isTrue();
        assertThat(held).isNotDone();
        http.post("/update_weight_version", "{'new_version':'default'}");
        assertThat(held.get(20, TimeUnit.SECONDS).body()).contains("Abort in waiting queue");
    }

    @Test
    void withAKeyRequestsMustCarryIt() throws Exception {
        try (EngineServer guarded = EngineServer.start(EngineOptions.builder(directory).apiKey("secret").build());
                HttpCalls without = new HttpCalls(guarded.port(), Map.of());
                HttpCalls wrong = new HttpCalls(guarded.port(), Map.of("Authorization", "Bearer secre"));
                HttpCalls with = new HttpCalls(guarded.port(), Map.of("Authorization", "Bearer secret"))) {
            assertThat(without.post("/generate", "{'text':'hello'}").status()).isEqualTo(401);
            assertThat(wrong.get("/v1/models").body()).isEqualTo("{\"error\":\"Unauthorized\"}");
            assertThat(with.get("/v1/models").status()).isEqualTo(200);
            assertThat(without.get("/health").status()).isEqualTo(200);
        }
    }

    @Test
    void offLoopbackAKeyAndAdapterRootsAreNeeded() {
        assertThatThrownBy(() -> EngineOptions.builder(directory).host("0.0.0.0").build()).hasMessageContaining("--api-key");
        assertThatThrownBy(() -> EngineOptions.builder(directory).host("0.0.0.0").apiKey("k").build()).hasMessageContaining("--adapter-root");
        assertThat(EngineOptions.builder(directory).host("0.0.0.0").apiKey("k").adapterRoots(List.of(directory)).build().host()).isEqualTo("0.0.0.0");
        assertThatThrownBy(() -> EngineOptions.builder(directory).maxLorasPerBatch(0).build()).hasMessageContaining("--max-loras-per-batch is 0");
    }

    private static void awaitLoad(Predicate<EngineLoad> condition) throws InterruptedException {
        assertThat(server.engine().await(condition, Duration.ofSeconds(20))).isTrue();
    }

    private static String load(String name, String path) {
        return "{'lora_name':'" + name + "','lora_path':'" + path + "'}";
    }
}
