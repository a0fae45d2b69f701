package io.furlong.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RepliesTest {
    @Test
    void aReplyOfSglangIsRead() throws Exception {
        GenerateResponse reply = WireJson.mapper().readValue("""
                {"text":"ab","output_ids":[5,2],"new_field":{"x":1},"meta_info":{"id":"r","finish_reason":{"type":"stop","matched":2},
                 "prompt_tokens":3,"completion_tokens":2,"cached_tokens":1,"weight_version":"default","e2e_latency":0.5,"dp_rank":null,
                 "input_token_logprobs":[[null,1,null],[-0.5,7,"b"]],"output_token_logprobs":[[-1.25,5,null],[-0.125,2,null]],
                 "output_top_logprobs":[[[-0.1,5,null],[-2.0,6,null]],null]}}""", GenerateResponse.class);
        MetaInfo meta = reply.metaInfo();
        assertThat(reply.outputIds()).containsExactly(5, 2);
        assertThat(meta.finishReason()).contains(FinishReason.stoppedAt(2));
        assertThat(meta.outputTokenLogprobs().orElseThrow()).containsExactly(TokenLogprob.of(-1.25f, 5), TokenLogprob.of(-0.125f, 2));
        assertThat(meta.inputTokenLogprobs().orElseThrow().getFirst().logprob()).isNaN();
        assertThat(meta.inputTokenLogprobs().orElseThrow().getLast().text()).contains("b");
        assertThat(meta.outputTopLogprobs().orElseThrow().getLast()).isEmpty();
        assertThat(meta.cachedTokens()).hasValue(1);
        assertThat(meta.loraVersions()).isEmpty();
    }

    @Test
    void aRequestAbortedWhileWaitingIsRead() throws Exception {
        GenerateResponse reply = WireJson.mapper().readValue("""
                {"text":"","output_ids":[],"meta_info":{"id":"r","finish_reason":{"type":"abort","message":"Abort in waiting queue"},
                 "weight_version":"default","e2e_latency":0.1,"completion_tokens":0}}""", GenerateResponse.class);
        assertThat(reply.metaInfo().promptTokens()).isEmpty();
        assertThat(reply.metaInfo().finishReason()).contains(FinishReason.Abort.of("Abort in waiting queue"));
    }

    @Test
    void floatsSurviveTheWireBitForBit() throws Exception {
        for (float f : new float[] {-0.1f, -1.17549435e-38f, -7.6293945e-6f, -12.345679f, -0.33333334f}) {
            String json = WireJson.write(List.of(TokenLogprob.of(f, 3)));
            assertThat(WireJson.mapper().readValue(json, TokenLogprob[].class)[0].logprob()).isEqualTo(f);
        }
    }

    @Test
    void versionsAreWrittenAsPairs() throws Exception {
        assertThat(WireJson.write(new LoraVersion(4, 13))).isEqualTo("[4,13]");
        assertThat(WireJson.mapper().readValue("[4,13]", LoraVersion.class)).isEqualTo(new LoraVersion(4, 13));
    }

    @Test
    void everyErrorShapeGivesItsMessage() {
        assertThat(ErrorReply.read(400, ErrorReply.badValue("a").body()).message()).isEqualTo("a");
        assertThat(ErrorReply.read(400, ErrorReply.badField("b").body()).message()).isEqualTo("b");
        assertThat(ErrorReply.read(503, ErrorReply.unavailable("c").body()).message()).isEqualTo("c");
        assertThat(ErrorReply.read(401, ErrorReply.unauthorized().body()).message()).isEqualTo("Unauthorized");
        assertThat(ErrorReply.read(500, "Internal Server Error").message()).isEqualTo("Internal Server Error");
        assertThat(ErrorReply.read(503, "{\"error\":{\"type\":\"Service Unavailable\",\"code\":\"no_available_workers\",\"message\":\"d\"}}").message())
                .isEqualTo("d");
    }

    @Test
    void theShapesAreTheOnesOfSglang() {
        assertThat(ErrorReply.badField("m").body()).isEqualTo("{\"object\":\"error\",\"message\":\"m\",\"type\":\"Bad Request\",\"param\":null,\"code\":400}");
        assertThat(ErrorReply.unavailable("m").body()).isEqualTo("{\"object\":\"error\",\"message\":\"m\",\"type\":\"503\",\"param\":null,\"code\":503}");
        assertThat(WireJson.write(LoraReply.done(Map.of("a", "/p"))))
                .isEqualTo("{\"rid\":null,\"http_worker_ipc\":null,\"success\":true,\"error_message\":null,\"loaded_adapters\":{\"a\":\"/p\"}}");
        assertThat(WireJson.write(FinishReason.Abort.of("x"))).isEqualTo("{\"type\":\"abort\",\"message\":\"x\"}");
        assertThat(WireJson.write(LoadLoraRequest.of("n", "/p"))).isEqualTo("{\"lora_name\":\"n\",\"lora_path\":\"/p\"}");
    }

    @Test
    void bodiesOfTheAdminRoutesAreRead() throws Exception {
        assertThat(read("{'rid':'a::','prefix':true,'x':1}", AbortRequest.class)).isEqualTo(AbortRequest.startingWith("a::"));
        assertThat(read("{'abort_all':true}", AbortRequest.class)).isEqualTo(AbortRequest.all());
        assertThat(read("{}", PauseRequest.class).mode()).isEqualTo(PauseRequest.Mode.ABORT);
        assertThat(read("{'mode':'in_place'}", PauseRequest.class).mode()).isEqualTo(PauseRequest.Mode.IN_PLACE);
        assertThat(catchThrowableOfType(RejectedRequest.class, () -> read("{'mode':'x'}", PauseRequest.class)).reply().status()).isEqualTo(400);
        assertThat(catchThrowableOfType(RejectedRequest.class, () -> read("{'lora_name':'x'}", LoadLoraRequest.class)).reply().message()).contains("lora_path");
        assertThat(catchThrowableOfType(RejectedRequest.class, () -> read("{'rid':7}", AbortRequest.class)).reply().message()).contains("rid");
    }

    @Test
    void infoOfAReleasedServerIsRead() throws Exception {
        ServerInfo info = WireJson.mapper().readValue("""
                {"model_path":"m","enable_lora":true,"max_loras_per_batch":8,"max_loaded_loras":null,"max_lora_rank":16,"tokenizer_worker_num":1,
                 "dp_size":1,"version":"0.5.18","internal_states":[],"kv_events":null}""", ServerInfo.class);
        assertThat(info.maxLorasPerBatch()).hasValue(8);
        assertThat(info.maxLoadedLoras()).isEmpty();
        assertThat(info.furlong()).isEmpty();
        Loads loads = WireJson.mapper().readValue("""
                {"timestamp":"t","loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1,"token_usage":0.5,"extra":1}]}""", Loads.class);
        assertThat(loads.loads().getFirst().numRunningReqs()).isEqualTo(3);
    }

    private static <T> T read(String json, Class<T> type) throws RejectedRequest {
        return WireJson.readBody(json.replace('\'', '"').getBytes(StandardCharsets.UTF_8), type);
    }
}
