package io.furlong.sglang.testing;

import io.furlong.sglang.testing.TinyServer.Reply;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Answers every generation with the same bytes, 256 tokens with their log-probs, so that what is measured is the client. A process of its
 * own: prints its address, then obeys its standard input. From {@code hold N} on, which it answers with a line, generations wait, and it prints
 * another line once it has N of them; {@code go} lets them go.
 */
public final class PrebuiltServer {
    private static final int TOKENS = 256;

    private PrebuiltServer() {}

    /** What generations wait behind: until {@code arrived} is down somebody is expected, until {@code open} is down nobody passes. */
    private record Gate(CountDownLatch arrived, CountDownLatch open) {
        static Gate holding(int expected) {
            return new Gate(new CountDownLatch(expected), new CountDownLatch(1));
        }
    }

    /** Runs until its standard input ends. */
    public static void main(String[] args) throws IOException, InterruptedException {
        byte[] body = body().getBytes(StandardCharsets.UTF_8);
        Gate opened = Gate.holding(0);
        opened.open().countDown();
        AtomicReference<Gate> gate = new AtomicReference<>(opened);
        try (SglangDouble facts = new SglangDouble(Quirks.RELEASED); TinyServer server = new TinyServer(request -> {
            if (!request.path().equals("/generate")) {
                return facts.answerTo(request);
            }
            Gate mine = gate.get();
            mine.arrived().countDown();
            mine.open().await();
            return new Reply(200, "application/json", body, "");
        }); BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println(server.url());
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals("go")) {
                    gate.get().open().countDown();
                } else {
                    gate.set(Gate.holding(Integer.parseInt(line.substring("hold ".length()))));
                    System.out.println("holding");
                    gate.get().arrived().await();
                    System.out.println("held");
                }
            }
        }
    }

    private static String body() {
        StringBuilder ids = new StringBuilder();
        StringBuilder triples = new StringBuilder();
        for (int i = 0; i < TOKENS; i++) {
            String comma = i == 0 ? "" : ",";
            ids.append(comma).append(1000 + i * 37);
            triples.append(comma).append("[-").append(i % 7).append('.').append(10_000_019L * (i + 1) % 1_000_000_007L).append(',').append(1000 + i * 37).append(",null]");
        }
        return "{\"text\":\"" + "word ".repeat(TOKENS) + "\",\"output_ids\":[" + ids + "],\"meta_info\":{\"id\":\"x\",\"finish_reason\":{\"type\":\"length\",\"length\":" + TOKENS
                + "},\"prompt_tokens\":64,\"weight_version\":\"default\",\"num_retractions\":0,\"reasoning_tokens\":0,\"completion_tokens\":" + TOKENS
                + ",\"cached_tokens\":0,\"e2e_latency\":1.5,\"output_token_logprobs\":[" + triples + "],\"output_token_logprobs_length\":" + TOKENS + "}}";
    }
}
