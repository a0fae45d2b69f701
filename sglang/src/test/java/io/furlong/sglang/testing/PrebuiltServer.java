package io.furlong.sglang.testing;

import io.furlong.sglang.testing.TinyServer.Reply;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Answers every generation with the same bytes, 256 tokens with their log-probs, so that what is measured is the client. A process of its
 * own: prints its port, then obeys {@code hold} and {@code go} on its standard input; while it holds, generations wait.
 */
public final class PrebuiltServer {
    private static final int TOKENS = 256;

    private PrebuiltServer() {}

    /** Runs until its standard input ends. */
    public static void main(String[] args) throws IOException {
        byte[] body = body().getBytes(StandardCharsets.UTF_8);
        AtomicReference<CountDownLatch> gate = new AtomicReference<>(new CountDownLatch(0));
        try (SglangDouble facts = new SglangDouble(Quirks.RELEASED); TinyServer server = new TinyServer(request -> {
            if (!request.path().equals("/generate")) {
                return facts.answerTo(request);
            }
            gate.get().await();
            return new Reply(200, "application/json", body, "");
        })) {
            System.out.println(server.url());
            for (int c = System.in.read(); c >= 0; c = System.in.read()) {
                if (c == 'h') {
                    gate.set(new CountDownLatch(1));
                } else if (c == 'g') {
                    gate.get().countDown();
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
