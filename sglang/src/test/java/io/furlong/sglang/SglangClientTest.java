package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.sglang.EngineException.Kind;
import io.furlong.sglang.testing.Fault;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.SglangDouble;
import io.furlong.sglang.testing.TinyServer;
import io.furlong.wire.AbortRequest;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.SamplingParams;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SglangClientTest {
    private static final Duration SOON = Duration.ofSeconds(20);
    private static final GenerateRequest REQUEST = GenerateRequest.ofIds(new int[] {5, 6, 7}, SamplingParams.builder().maxNewTokens(6).ignoreEos(true).samplingSeed(3).build()).withLogprobs();

    private final Http http = Http.open();

    @AfterEach
    void close() {
        http.close();
    }

    static Stream<Arguments> shapes() {
        return Stream.of(
                Arguments.of(400, "application/json", "{\"error\":{\"message\":\"temperature must be non-negative\"}}", "", Kind.BAD_REQUEST),
                Arguments.of(400, "application/json", "{\"object\":\"error\",\"message\":\"bad field\",\"type\":\"Bad Request\",\"param\":null,\"code\":400}", "", Kind.BAD_REQUEST),
                Arguments.of(400, "application/json", "{\"error\":{\"message\":\"Got LoRA adapter that has never been loaded: X\\nAll loaded adapters: dict_keys([]).\"}}", "", Kind.UNKNOWN_ADAPTER),
                Arguments.of(400, "application/json", "{\"error\":{\"message\":\"The following requested LoRA adapters are not loaded: X\\nLoaded adapters: \"}}", "", Kind.UNKNOWN_ADAPTER),
                Arguments.of(400, "application/json", "{\"error\":{\"message\":\"Failed to implicitly load LoRA adapter X: gone\"}}", "", Kind.UNKNOWN_ADAPTER),
                Arguments.of(401, "application/json", "{\"error\":\"Unauthorized\"}", "", Kind.UNAUTHORIZED),
                Arguments.of(403, "application/json", "{\"error\":\"Forbidden\"}", "", Kind.UNAUTHORIZED),
                Arguments.of(404, "application/json", "{\"detail\":\"Not Found\"}", "", Kind.NOT_FOUND),
                Arguments.of(408, "application/json", "{\"error\":{\"type\":\"t\",\"code\":\"c\",\"message\":\"m\"}}", "X-SMG-Error-Code: request_timeout", Kind.OVERLOADED),
                Arguments.of(429, "text/plain", "", "", Kind.OVERLOADED),
                Arguments.of(500, "text/plain", "Internal Server Error", "", Kind.SERVER_FAULT),
                Arguments.of(503, "application/json", "{\"object\":\"error\",\"message\":\"The request queue is full.\",\"type\":\"503\",\"param\":null,\"code\":503}", "", Kind.OVERLOADED),
                Arguments.of(503, "application/json", "{\"error\":{\"type\":\"Service Unavailable\",\"code\":\"no_available_workers\",\"message\":\"none\"}}", "X-SMG-Error-Code: no_available_workers", Kind.GATEWAY),
                Arguments.of(500, "application/json", "{\"error\":{\"type\":\"Internal Server Error\",\"code\":\"call_upstream_failed\",\"message\":\"x\"}}", "", Kind.GATEWAY),
                Arguments.of(504, "application/json", "{}", "", Kind.GATEWAY),
                Arguments.of(502, "text/html", "<html>Bad Gateway</html>", "", Kind.GATEWAY),
                Arguments.of(200, "application/json", "{\"text\":", "", Kind.UNREADABLE),
                Arguments.of(200, "text/plain", "", "", Kind.UNREADABLE));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void everyShapeOfErrorIsToldApart(int status, String type, String body, String header, Kind kind) {
        try (TinyServer server = new TinyServer(r -> new TinyServer.Reply(status, type, body.getBytes(StandardCharsets.UTF_8), header))) {
            SglangClient client = new SglangClient(http, server.url());
            assertThatThrownBy(() -> client.generate(REQUEST, SOON)).isInstanceOfSatisfying(EngineException.class, e -> {
                assertThat(e.kind()).isEqualTo(kind);
                assertThat(e.getMessage()).contains(server.url().toString()).doesNotContain("\n");
            });
        }
    }

    @Test
    void aServerThatIsNotThereAndOneThatHangsUpAreToldApart() {
        URI gone;
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            gone = engine.url();
            engine.next("/generate", new Fault.Drop(), new Fault.DropMidway());
            SglangClient client = new SglangClient(http, gone);
            assertThatThrownBy(() -> client.generate(REQUEST, SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.DROPPED));
            assertThatThrownBy(() -> client.generate(REQUEST, SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.DROPPED));
        }
        assertThatThrownBy(() -> new SglangClient(http, gone).generate(REQUEST, SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE));
    }

    @Test
    void theDeadlineHoldsForAnAnswerThatNeverComes() {
        CountDownLatch never = new CountDownLatch(1);
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            engine.next("/generate", new Fault.Hang(never));
            assertThatThrownBy(() -> new SglangClient(http, engine.url()).generate(REQUEST, Duration.ofMillis(100)))
                    .isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.TIMED_OUT));
        } finally {
            never.countDown();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void cumulativeAndIncrementalStreamsJoinToTheSameReply(boolean incremental) throws Exception {
        try (SglangDouble engine = new SglangDouble(incremental ? Quirks.RELEASED.streamingIncrements() : Quirks.RELEASED)) {
            SglangClient client = new SglangClient(http, engine.url());
            GenerateResponse whole = client.generate(REQUEST.withRid("a::1"), SOON);
            try (GenerateStream stream = client.stream(REQUEST.withRid("a::2"), SOON)) {
                GenerateResponse joined = stream.whole();
                assertThat(joined.outputIds()).isEqualTo(whole.outputIds());
                assertThat(joined.text()).isEqualTo(whole.text());
                assertThat(joined.metaInfo().outputTokenLogprobs()).isEqualTo(whole.metaInfo().outputTokenLogprobs());
                assertThat(joined.metaInfo().finishReason()).isEqualTo(whole.metaInfo().finishReason());
            }
        }
    }

    @Test
    void anErrorInsideAStreamIsAnErrorThoughTheStatusWas200() throws Exception {
        String events = "data: {\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\",\"code\":400,\"retryable\":false}}\n\ndata: [DONE]\n\n";
        try (TinyServer server = new TinyServer(r -> TinyServer.Reply.events(events)); GenerateStream stream = new SglangClient(http, server.url()).stream(REQUEST, SOON)) {
            assertThatThrownBy(stream::whole).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.IN_STREAM)).hasMessageContaining("too long");
        }
    }

    @Test
    void aStreamCutShortIsNoAnswer() throws Exception {
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            engine.next("/generate", new Fault.DropMidway());
            try (GenerateStream stream = new SglangClient(http, engine.url()).stream(REQUEST, SOON)) {
                assertThatThrownBy(stream::whole).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.DROPPED));
            }
        }
    }

    @Test
    void anAbortOfAnythingIsAnsweredWithNothing() throws Exception {
        try (SglangDouble engine = new SglangDouble(Quirks.RELEASED)) {
            new SglangClient(http, engine.url()).abort(AbortRequest.exact("nobody::0"), SOON);
            assertThat(engine.calls()).containsExactly("POST /abort_request");
        }
    }

    @Test
    void olderNamesOfTheInfoPagesAreTried() throws Exception {
        try (TinyServer server = new TinyServer(r -> r.path().startsWith("/get_") ? TinyServer.Reply.json(200, "{\"model_path\":\"m\",\"is_generation\":true,\"unknown\":{}}")
                : TinyServer.Reply.json(404, "{\"detail\":\"Not Found\"}"))) {
            assertThat(new SglangClient(http, server.url()).modelInfo(SOON).modelPath()).isEqualTo("m");
            assertThat(new SglangClient(http, server.url()).serverInfo(SOON).modelPath()).contains("m");
        }
    }

    @Test
    void theKeyGoesWithEveryRequest() throws Exception {
        String[] seen = new String[1];
        try (Http keyed = Http.withKey("secret"); TinyServer server = new TinyServer(r -> {
            seen[0] = r.authorization();
            return TinyServer.Reply.text(200, "");
        })) {
            new SglangClient(keyed, server.url()).health(SOON);
            assertThat(seen[0]).isEqualTo("Bearer secret");
        }
    }
}
