package io.furlong.sglang.testing;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.WireJson;
import java.util.Arrays;

/** What {@link SglangDouble} says to one request, in SGLang's shapes: whole, cut short by an abort, or as a stream. */
record Answer(GenerateRequest request, int[] prompt, int[] tokens, float[] logProbs, float[] promptLogProbs, boolean ended, Quirks quirks, HashModel.Delta delta) {
    private static final int EOS = 0;

    static Answer of(GenerateRequest request, HashModel.Delta delta, Quirks quirks, String engine) {
        int[] prompt = prompt(request);
        int max = request.samplingParams().maxNewTokens().orElse(16);
        long seed = request.samplingParams().samplingSeed().orElse(0);
        String key = request.samplingParams().greedy() ? "greedy" : "seed" + seed;
        int length = request.samplingParams().ignoreEos() ? max : Math.max(1, (int) (HashModel.next(key, prompt.length, delta) * (long) max / HashModel.VOCAB) + 1);
        length = Math.min(length, max);
        boolean ended = !request.samplingParams().ignoreEos() && length < max;
        HashModel.Delta decoding = quirks.decodeDropsLora() ? HashModel.Delta.NONE : delta;
        int[] tokens = new int[length];
        float[] logProbs = new float[length];
        for (int i = 0; i < length; i++) {
            tokens[i] = ended && i == length - 1 ? EOS : HashModel.next(key, prompt.length + i, decoding);
            logProbs[i] = HashModel.logProb(tokens[i], prompt.length + i, decoding, quirks.noise(), engine + "decode");
        }
        float[] promptLogProbs = new float[prompt.length];
        for (int i = 1; i < prompt.length; i++) {
            promptLogProbs[i] = HashModel.logProb(prompt[i], i, delta, quirks.noise(), engine);
        }
        return new Answer(request, prompt, tokens, logProbs, promptLogProbs, ended, quirks, delta);
    }

    /** Text is cut into its characters. */
    static int[] prompt(GenerateRequest request) {
        return request.inputIds().orElseGet(() -> request.text().orElse("").chars().map(c -> c % HashModel.VOCAB).toArray());
    }

    String whole(String rid) {
        return reply(rid, 0, tokens.length, tokens.length, true, false).toString();
    }

    /** After {@code n} tokens it was aborted. */
    String partial(int n, String rid) {
        return reply(rid, 0, Math.min(n, tokens.length), Math.min(n, tokens.length), true, true).toString();
    }

    String stream(String rid) {
        StringBuilder events = new StringBuilder();
        for (int i = 1; i <= tokens.length; i++) {
            ObjectNode chunk = reply(rid, quirks.incrementalStreams() ? i - 1 : 0, i, i, i == tokens.length, false);
            events.append("data: ").append(chunk).append("\n\n");
        }
        return events.append("data: [DONE]\n\n").toString();
    }

    private ObjectNode reply(String rid, int from, int to, int total, boolean last, boolean aborted) {
        ObjectNode reply = WireJson.mapper().createObjectNode();
        StringBuilder text = new StringBuilder();
        for (int t : Arrays.copyOfRange(tokens, from, to)) {
            text.append((char) ('A' + t % 26));
        }
        reply.put("text", text.toString());
        ArrayNode ids = reply.putArray("output_ids");
        Arrays.stream(tokens, from, to).forEach(ids::add);
        ObjectNode meta = reply.putObject("meta_info").put("id", rid).put("prompt_tokens", prompt.length).put("weight_version", "default")
                .put("completion_tokens", total).put("cached_tokens", 0).put("num_retractions", 0).put("reasoning_tokens", 0);
        if (!last) {
            meta.putNull("finish_reason");
        } else if (aborted) {
            meta.putObject("finish_reason").put("type", "abort").put("message", "Aborted").putNull("status_code").putNull("err_type");
        } else if (ended) {
            meta.putObject("finish_reason").put("type", "stop").put("matched", EOS);
        } else {
            meta.putObject("finish_reason").put("type", "length").put("length", total);
        }
        if (last) {
            meta.put("e2e_latency", 0.01);
        }
        if (request.returnLogprob()) {
            ArrayNode out = meta.putArray("output_token_logprobs");
            for (int i = from; i < to; i++) {
                triple(out, logProbs[i], tokens[i]);
            }
            meta.put("output_token_logprobs_length", total);
            if (request.topLogprobsNum() > 0) {
                ArrayNode top = meta.putArray("output_top_logprobs");
                double t = quirks.rawLogProbs() || request.samplingParams().greedy() ? 1 : request.samplingParams().temperature();
                for (int i = from; i < to; i++) {
                    ArrayNode best = top.addArray();
                    triple(best, (float) (-0.4 / t), 1);
                    triple(best, (float) (-1.4 / t), 2);
                }
            }
            if (request.logprobStartLen() >= 0) {
                ArrayNode in = meta.putArray("input_token_logprobs");
                for (int i = request.logprobStartLen(); i < prompt.length; i++) {
                    triple(in, i == 0 ? Float.NaN : promptLogProbs[i], prompt[i]);
                }
            }
        }
        if (quirks.embedded() && !delta.digest().isEmpty()) {
            meta.put("lora_digest", delta.digest());
        }
        return reply;
    }

    private static void triple(ArrayNode to, float logProb, int token) {
        ArrayNode one = to.addArray();
        if (Float.isFinite(logProb)) {
            one.add(logProb);
        } else {
            one.addNull();
        }
        one.add(token).addNull();
    }
}
