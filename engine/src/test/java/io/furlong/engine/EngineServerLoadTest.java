package io.furlong.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.engine.HttpCalls.Answer;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.GenerateBatch;
import io.furlong.wire.RejectedRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many clients at once, and bodies that nobody meant to send. */
@Timeout(180)
class EngineServerLoadTest {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    @TempDir
    private static Path directory;
    private static EngineServer server;
    private static HttpCalls http;

    @BeforeAll
    static void start() throws Exception {
        server = EngineServer.start(EngineOptions.builder(TextModel.write(directory)).build());
        http = new HttpCalls(server.port(), Map.of());
        http.post("/load_lora_adapter", "{'lora_name':'a','lora_path':'" + Fixture.LLAMA_R4 + "'}");
    }

    @AfterAll
    static void stop() {
        http.close();
        server.close();
    }

    @Test
    void manyClientsOverKeptConnectionsEachGetTheirOwnAnswer() throws Exception {
        List<String> alone = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            alone.add(ask(i));
        }
        try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Void>> all = new ArrayList<>();
            for (int client = 0; client < 16; client++) {
                int start = client;
                all.add(clients.submit(() -> {
                    for (int i = 0; i < 20; i++) {
                        int question = (start * 7 + i) % 20;
                        assertThat(ask(question)).isEqualTo(alone.get(question));
                    }
                    return null;
                }));
            }
            for (Future<Void> one : all) {
                one.get();
            }
        }
    }

    @Test
    void noBodyBreaksTheEngine() throws Exception {
        Random random = new Random(11);
        ObjectMapper mapper = new ObjectMapper();
        int refused = 0;
        for (int i = 0; i < 1500; i++) {
            ObjectNode body = (ObjectNode) mapper.readTree("{\"text\":\"hello\",\"lora_path\":\"a\",\"rid\":\"f" + i + "\",\"return_logprob\":true,\"logprob_start_len\":0,"
                    + "\"top_logprobs_num\":1,\"stream\":false,\"sampling_params\":{\"temperature\":1,\"top_p\":0.9,\"top_k\":4,\"min_p\":0.1,\"max_new_tokens\":2,"
                    + "\"stop\":\"q\",\"stop_token_ids\":[3],\"n\":1,\"logit_bias\":{\"3\":1},\"sampling_seed\":4}}");
            ObjectNode where = random.nextInt(3) == 0 ? body : (ObjectNode) body.get("sampling_params");
            List<String> names = new ArrayList<>();
            where.fieldNames().forEachRemaining(names::add);
            where.set(names.get(random.nextInt(names.size())), anything(random, 2));
            Answer answer = http.post("/generate", body.toString());
            assertThat(answer.status()).as(body.toString()).isIn(200, 400, 500);
            if (answer.status() == 500) {
                // What Python would not have caught, found when the body was read; never a failure of this engine's own.
                assertThat(answer.body()).as(body.toString()).isEqualTo(ErrorReply.UNCAUGHT);
                RejectedRequest read = catchThrowableOfType(RejectedRequest.class, () -> GenerateBatch.read(body));
                assertThat(read).as(body.toString()).isNotNull();
                assertThat(read.reply().status()).isEqualTo(500);
            }
            refused += answer.status() == 200 ? 0 : 1;
        }
        assertThat(refused).isBetween(200, 1400);
        assertThat(server.engine().await(EngineLoad::idle, Duration.ofSeconds(20))).isTrue();
        assertThat(ask(0)).isNotEmpty();
        server.engine().unload("a").get();
        http.post("/load_lora_adapter", "{'lora_name':'a','lora_path':'" + Fixture.LLAMA_R4 + "'}");
    }

    private static JsonNode anything(Random random, int depth) {
        return switch (random.nextInt(depth > 0 ? 12 : 9)) {
            case 0 -> JSON.nullNode();
            case 1 -> JSON.numberNode(-1);
            case 2 -> JSON.numberNode(random.nextInt(200));
            case 3 -> JSON.numberNode(random.nextGaussian() * 3);
            case 4 -> JSON.numberNode(Long.MAX_VALUE);
            case 5 -> JSON.booleanNode(random.nextBoolean());
            case 6 -> JSON.textNode("");
            case 7 -> JSON.textNode(random.nextBoolean() ? "x\u0000é\uD83D\uDE00" : "hello");
            case 8 -> JSON.numberNode(1e300);
            case 9 -> {
                ArrayNode list = JSON.arrayNode();
                for (int i = random.nextInt(3); i > 0; i--) {
                    list.add(anything(random, depth - 1));
                }
                yield list;
            }
            case 10 -> JSON.objectNode().set(random.nextBoolean() ? "7" : "k", anything(random, depth - 1));
            default -> JSON.objectNode();
        };
    }

    private static String ask(int i) throws Exception {
        String adapter = i % 2 == 0 ? "" : ",'lora_path':'a'";
        Answer answer = http.post("/generate", "{'text':'question " + (char) ('a' + i) + "'" + adapter + ",'sampling_params':{'temperature':0,'max_new_tokens':" + (2 + i % 5) + "}}");
        assertThat(answer.status()).isEqualTo(200);
        return answer.json().get("text").asText();
    }
}
